{{- /* The settings of both roles. */ -}}
{{- define "tipstaff.engine" -}}
- name: TIPSTAFF_ENGINE
  value: {{ required "engine.addresses: name the NATS servers, as nats://nats.nats.svc:4222" .Values.engine.addresses | quote }}
- name: TIPSTAFF_ENGINE_CREDENTIALS
  value: /etc/tipstaff/engine/engine.nk
- name: TIPSTAFF_ENGINE_SEAL
  value: /etc/tipstaff/engine/seal
{{- if .Values.engine.operatorKeys }}
- name: TIPSTAFF_ENGINE_OPERATORS
  value: /etc/tipstaff/policy/operators
{{- end }}
{{- with .Values.engine.patience }}
- name: TIPSTAFF_ENGINE_PATIENCE
  value: {{ . | quote }}
{{- end }}
{{- if .Values.engine.tlsSecret }}
- name: TIPSTAFF_ENGINE_TLS_CA
  value: /etc/tipstaff/tls/ca.crt
- name: TIPSTAFF_ENGINE_TLS_CERT
  value: /etc/tipstaff/tls/tls.crt
- name: TIPSTAFF_ENGINE_TLS_KEY
  value: /etc/tipstaff/tls/tls.key
{{- end }}
- name: TIPSTAFF_CONFIG
  value: /etc/tipstaff/policy/tipstaff.yaml
- name: TIPSTAFF_STATE_DIR
  value: /var/lib/tipstaff
{{- with .Values.metricsPort }}
- name: TIPSTAFF_METRICS
  value: "0.0.0.0:{{ . }}"
{{- end }}
{{- end -}}

{{- define "tipstaff.settings" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- /* Nothing may change in a container but what is mounted for it, and no
       program gets more rights than it was started with. */ -}}
{{- define "tipstaff.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: {drop: [ALL]}
{{- end -}}
