package console

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnAddressLetsOneBrowserInOnce(t *testing.T) {
	c := open(t, Options{})
	if status, body := c.get("/approvals"); status != http.StatusForbidden || !strings.Contains(body, "has not come in") {
		t.Errorf("without a cookie: %d %s", status, body)
	}
	old := c.Address()
	address := c.Address()
	if status, _ := c.get(old); status != http.StatusForbidden {
		t.Errorf("an address that another has replaced: %d", status)
	}
	if status, body := c.get(address); status != http.StatusOK || !strings.Contains(body, `content="0;url=/"`) {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := c.get("/"); status != http.StatusOK || !strings.Contains(body, "Approvals") {
		t.Errorf("inside: %d %s", status, body)
	}
	for _, k := range c.client.Jar.Cookies(must(url.Parse(c.origin))) {
		if k.Name == cookieName && len(k.Value) < 40 {
			t.Errorf("a short cookie: %q", k.Value)
		}
	}
	if c.client.Jar, _ = cookiejar.New(nil); c.client.Jar == nil {
		t.Fatal("no jar")
	}
	if status, _ := c.get(address); status != http.StatusForbidden {
		t.Errorf("the address let another browser in: %d", status)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestTheCookieIsStrict(t *testing.T) {
	c := open(t, Options{})
	res, err := c.client.Get(c.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	set := res.Header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(set, want) {
			t.Errorf("%q has no %s", set, want)
		}
	}
	if strings.Contains(set, "Domain") {
		t.Errorf("%q goes to other hosts", set)
	}
}

func TestAnAddressAndABrowserGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance()
		key := e.newKey(time.Now())
		time.Sleep(keyTime)
		if _, ok := e.admit(key, time.Now()); ok {
			t.Error("an old address counts")
		}
		cookie, ok := e.admit(e.newKey(time.Now()), time.Now())
		if !ok {
			t.Fatal("a new one does not")
		}
		if _, ok := e.admit("", time.Now()); ok {
			t.Error("no key counts")
		}
		r, _ := http.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie})
		time.Sleep(browserTime - time.Hour)
		if !e.knows(r, time.Now()) {
			t.Error("it is forgotten early")
		}
		time.Sleep(browserTime + time.Second)
		if e.knows(r, time.Now()) {
			t.Error("a browser that stayed away is still in")
		}
		for range 3 * mostBrowsers {
			if _, ok := e.admit(e.newKey(time.Now()), time.Now()); !ok {
				t.Fatal("not admitted")
			}
		}
		if len(e.browsers) > mostBrowsers {
			t.Errorf("%d browsers are kept", len(e.browsers))
		}
	})
}

func TestOtherNamesAndOriginsGetNothing(t *testing.T) {
	q := &fakeQuestions{known: "apr_1"}
	c := open(t, Options{Questions: q}).in()
	port := c.origin[strings.LastIndex(c.origin, ":"):]
	for _, host := range []string{"127.0.0.1" + port, "localhost" + port, "evil.example" + port, "x." + c.name + port} {
		if status, body := c.ask(http.MethodGet, "/approvals", nil, map[string]string{"Host": host, "Accept": "text/html"}); status != http.StatusMisdirectedRequest || strings.Contains(body, "Approvals") {
			t.Errorf("as %s: %d", host, status)
		}
	}
	form := says("once", ask())
	for name, h := range map[string]map[string]string{
		"another site":             {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
		"another port":             {"Sec-Fetch-Site": "same-site", "Origin": "http://" + c.name + ":1"},
		"an old browser elsewhere": {"Origin": "https://evil.example"},
		"a page without an origin": {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
	} {
		if status, _ := c.ask(http.MethodPost, "/approvals/apr_1", form, h); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	if len(q.acts) > 0 {
		t.Errorf("it acted: %q", q.acts)
	}
	if status, _ := c.post("/approvals/apr_1", form); status != http.StatusOK || len(q.acts) != 1 { // the control
		t.Errorf("its own page: %d %q", status, q.acts)
	}
}

func TestOnlyThisMachineIsListenedTo(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":70000", "[::]:0", "192.0.2.1:80", "example.com:80", "nonsense", "unix:", "127.0.0.1"} {
		if l, err := Listen(t.Context(), address); err == nil {
			t.Errorf("%s: it listens at %s", address, l.Addr())
			_ = l.Close()
		}
	}
	for _, address := range []string{"localhost:0", ":0", "[::1]:0", "127.0.0.2:0", "unix:" + t.TempDir() + "/s"} {
		l, err := Listen(t.Context(), address)
		if err != nil {
			if strings.HasPrefix(address, "[::1]") {
				t.Logf("%s: %v", address, err) // a machine without IPv6
				continue
			}
			t.Errorf("%s: %v", address, err)
			continue
		}
		_ = l.Close()
	}
}
