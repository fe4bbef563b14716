{{- define "tipstaff.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end -}}

{{- /* What finds the pods of a role: a dict of top and role. */ -}}
{{- define "tipstaff.select" -}}
app.kubernetes.io/name: tipstaff
app.kubernetes.io/instance: {{ .top.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "tipstaff.labels" -}}
{{ include "tipstaff.select" . }}
app.kubernetes.io/version: {{ .top.Values.image.tag | default .top.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .top.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .top.Chart.Name .top.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "tipstaff.image" -}}
{{ required "image.repository: name the image that has tipstaff and the programs of your agents" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
