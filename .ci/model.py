"""model.py RESULTS LINE… is a model that asks for a line of Bash each turn, and
writes down what it is told of it: the other side of a client, on this machine,
port 8123. It knows only as much of the protocol of messages as a client needs."""
import http.server, json, sys

lines, results = sys.argv[2:], open(sys.argv[1], "w")


def turn(body):
    """The answer to a conversation: its one block, how that grows, why it ends."""
    told = [c for m in body["messages"] if isinstance(m["content"], list) for c in m["content"] if c.get("type") == "tool_result"]
    if told:
        print(json.dumps(told[-1]["content"]), file=results, flush=True)
    if "Bash" in [t.get("name") for t in body.get("tools", [])] and len(told) < len(lines):
        call = json.dumps({"command": lines[len(told)], "description": "a line of the test"})
        return {"type": "tool_use", "id": f"toolu_{len(told)}", "name": "Bash", "input": {}}, {"type": "input_json_delta", "partial_json": call}, "tool_use"
    return {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"


class Model(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, kind, data):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer("application/json", b"{}")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if not body.get("stream"):
            return self.answer("application/json", b'{"input_tokens": 1}')
        block, delta, why = turn(body)
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        self.answer("text/event-stream", "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode())


http.server.ThreadingHTTPServer(("127.0.0.1", 8123), Model).serve_forever()
