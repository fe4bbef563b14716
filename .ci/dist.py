"""What the check of packages (.ci/dist) cannot say well in a shell."""
import hashlib, io, json, os, subprocess, sys, tarfile, time, urllib.error, urllib.request


def check(good, what):
    if not good:
        sys.exit(f"dist: {what}")


def version(said, commit):
    v = json.load(open(said))
    check(v["revision"] == commit, f"the binary says commit {v.get('revision')}, not {commit}")
    check(v["date"].endswith("Z") and not v.get("modified") and len(v["modules"]) > 5, f"version --json is not whole: {v}")


def sbom(path, said, binary):
    doc, v = json.load(open(path)), json.load(open(said))
    check(doc["spdxVersion"] == "SPDX-2.3" and doc["dataLicense"] == "CC0-1.0" and doc["documentNamespace"], "the list of parts has no head")
    ids = [p["SPDXID"] for p in doc["packages"]]
    check(len(ids) == len(set(ids)), "two parts have one name")
    have = {p["name"] + "@" + p["versionInfo"] for p in doc["packages"]}
    missing = [m for m in v["modules"] if m not in have]
    check(not missing, f"not on the list of parts: {missing}")
    check("stdlib@" + v["go"].removeprefix("go") in have, "the Go that built it is not on the list of parts")
    own = next(p for p in doc["packages"] if p["SPDXID"] in doc["documentDescribes"])
    digest = hashlib.sha256(open(binary, "rb").read()).hexdigest()
    check(own["checksums"][0]["checksumValue"] == digest, "the list of parts is of another binary")
    check({r["relatedSpdxElement"] for r in doc["relationships"]} == set(ids), "parts that nothing contains")


def image(path, out):
    t = tarfile.open(path)
    def read(name):
        return t.extractfile(name).read()
    check(json.loads(read("oci-layout"))["imageLayoutVersion"] == "1.0.0", "no OCI layout")
    def blob(d):
        data = read("blobs/" + d["digest"].replace(":", "/"))
        check(len(data) == d["size"] and "sha256:" + hashlib.sha256(data).hexdigest() == d["digest"], f"{d['digest']} is something else")
        return data
    index = json.loads(blob(json.loads(read("index.json"))["manifests"][0]))
    check([m["platform"] for m in index["manifests"]] == [{"architecture": "amd64", "os": "linux"}], "not the platforms that were built")
    for m in index["manifests"]:
        manifest = json.loads(blob(m))
        config = json.loads(blob(manifest["config"]))
        layers = [blob(d) for d in manifest["layers"]]
        import gzip
        plain = ["sha256:" + hashlib.sha256(gzip.decompress(l)).hexdigest() for l in layers]
        check(config["rootfs"]["diff_ids"] == plain, "the layers are not those of the configuration")
        check(config["config"]["Entrypoint"] == ["/usr/bin/tipstaff"], "another program is started")
        for layer in layers:
            files = tarfile.open(fileobj=io.BytesIO(layer))
            check(files.getmember("tmp").mode == 0o1777, "everyone may remove what others have in /tmp")
            check([f.name for f in files if f.isfile()] == ["usr/bin/tipstaff"], "not one binary")
            files.extractall(out, filter="data") if hasattr(tarfile, "data_filter") else files.extractall(out)


INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "dist", "version": "1"}}


def message(id, method, params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def bundle(where, folder):
    """Starts the server as the manifest says, with what a person would fill in."""
    config = json.load(open(where + "/manifest.json"))
    filled = {"${__dirname}": os.path.abspath(where), "${user_config.folder}": folder, "${user_config.programs}": config["user_config"]["programs"]["default"]}
    def fill(text):
        for k, v in filled.items():
            text = text.replace(k, v)
        check("${" not in text, f"nothing fills {text}")
        return text
    mcp = config["server"]["mcp_config"]
    env = {k: fill(v) for k, v in mcp["env"].items()} | {"HOME": folder, "PATH": "/usr/bin:/bin"}
    server = subprocess.Popen([fill(mcp["command"])] + [fill(a) for a in mcp["args"]], env=env, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    open(folder + "/a-file", "w").close()
    calls = [message(1, "initialize", INITIALIZE), {"jsonrpc": "2.0", "method": "notifications/initialized"}, message(2, "tools/list", {}),
             message(3, "tools/call", {"name": "execute_command", "arguments": {"command": "ls"}})]
    for c in calls:
        server.stdin.write(json.dumps(c).encode() + b"\n")
    server.stdin.flush()
    answers = {}
    while len(answers) < 3:
        line = server.stdout.readline()
        check(line, "the bundle's server has ended")
        a = json.loads(line)
        if "id" in a and "method" not in a:
            answers[a["id"]] = a
    server.stdin.close()
    check(server.wait(20) == 0, "the bundle's server has not ended well")
    names = {t["name"] for t in answers[2]["result"]["tools"]}
    check({t["name"] for t in config["tools"]} == names, f"the manifest names other tools than {names}")
    check("a-file" in answers[3]["result"]["content"][0]["text"], f"ls says {answers[3]}")


def service(url, token):
    """Runs a command by a server that listens, or soon will."""
    session = None
    def post(body):
        headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if session:
            headers["Mcp-Session-Id"] = session
        r = urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=30)
        text = r.read().decode()
        found = [json.loads(l[5:]) for l in text.splitlines() if l.startswith("data:") and l[5:].strip()]
        return r, (found or [json.loads(text)] if text else [None])[-1]
    for left in range(100, 0, -1):
        try:
            r, _ = post(message(1, "initialize", INITIALIZE))
            break
        except urllib.error.URLError as e:
            check(left > 1 and isinstance(e.reason, ConnectionRefusedError), f"the service does not answer: {e}")
            time.sleep(0.1)
    session = r.headers.get("Mcp-Session-Id")
    post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    _, a = post(message(2, "tools/call", {"name": "execute_command", "arguments": {"command": "id -un"}}))
    check("exit_code: 0" in a["result"]["content"][0]["text"] and "tipstaff" in a["result"]["content"][0]["text"], f"the command says {a}")


globals()[sys.argv[1]](*sys.argv[2:])
