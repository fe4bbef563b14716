package authn

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// request is a request with an Authorization header for each value.
func request(target string, authorization ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, target, http.NoBody)
	for _, v := range authorization {
		r.Header.Add("Authorization", v)
	}
	return r
}

func TestATokenComesInOneHeaderAndNowhereElse(t *testing.T) {
	const good = "abcDEF-._~+/123=="
	for name, c := range map[string]struct {
		r    *http.Request
		want string
		err  error
	}{
		"a token":                     {request("/mcp", "Bearer "+good), good, nil},
		"a scheme in another case":    {request("/mcp", "bEARER "+good), good, nil},
		"several blanks":              {request("/mcp", "Bearer   "+good), good, nil},
		"no header":                   {request("/mcp"), "", nil},
		"an empty header":             {request("/mcp", ""), "", errScheme},
		"no token behind the scheme":  {request("/mcp", "Bearer "), "", errSyntax},
		"the scheme alone":            {request("/mcp", "Bearer"), "", errSyntax},
		"only padding":                {request("/mcp", "Bearer ==="), "", errSyntax},
		"padding in the middle":       {request("/mcp", "Bearer a=b"), "", errSyntax},
		"two words":                   {request("/mcp", "Bearer a b"), "", errSyntax},
		"a list of two":               {request("/mcp", "Bearer a, Bearer b"), "", errSyntax},
		"a tab":                       {request("/mcp", "Bearer a\tb"), "", errSyntax},
		"no ASCII":                    {request("/mcp", "Bearer ä"), "", errSyntax},
		"another scheme":              {request("/mcp", "Basic dTpw"), "", errScheme},
		"a scheme that begins alike":  {request("/mcp", "Bearerx "+good), "", errScheme},
		"two headers":                 {request("/mcp", "Bearer "+good, "Bearer "+good), "", errTwoHeaders},
		"two headers, one empty":      {request("/mcp", "Bearer "+good, ""), "", errTwoHeaders},
		"the longest":                 {request("/mcp", "Bearer "+strings.Repeat("a", maxToken)), strings.Repeat("a", maxToken), nil},
		"one longer than that":        {request("/mcp", "Bearer "+strings.Repeat("a", maxToken+1)), "", errTooLong},
		"in the query":                {request("/mcp?access_token=" + good), "", errInQuery},
		"in the query and the header": {request("/mcp?access_token="+good, "Bearer "+good), "", errInQuery},
		"an empty one in the query":   {request("/mcp?x=1&access_token", "Bearer "+good), "", errInQuery},
		"hidden in the query":         {request("/mcp?x=1;acce%73s%5Ftoken=a", "Bearer "+good), "", errInQuery},
		"capitals in the query":       {request("/mcp?%zz&ACCESS_TOKEN=a", "Bearer "+good), "", errInQuery},
		"another word in the query":   {request("/mcp?token_access=1&x=access_token", "Bearer "+good), good, nil},
	} {
		if got, err := bearer(c.r); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %.40q, %v; want %.40q, %v", name, got, err, c.want, c.err)
		}
	}
}

func FuzzBearer(f *testing.F) {
	f.Add("Bearer abc", "access_token=1")
	f.Add("Bearer eyJhbGciOiJub25lIn0.e30.", "%61")
	f.Add("basic x", "a=%")
	f.Fuzz(func(t *testing.T, header, query string) {
		r := request("/mcp", header)
		r.URL.RawQuery = query
		token, err := bearer(r)
		switch {
		case err != nil && token != "":
			t.Error("an error and a token")
		case err == nil && (!tokenSyntax(token) || len(token) > maxToken):
			t.Errorf("%q", token)
		case err == nil && !strings.HasSuffix(header, token):
			t.Errorf("%q has come out of %q", token, header)
		}
	})
}
