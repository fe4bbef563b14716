// The suite and nothing else: a way for its requests to a server that lets in
// nobody without credentials, which the suite has no option for.
//
// Every request goes on as it came, headers in their order and spelling, Host
// and Origin included, with an Authorization beside them; every answer comes
// back as it was written, byte by byte as the bytes arrive. Whoever hangs up on
// one side is gone on the other. So a verdict on what stands behind this is a
// verdict on the server.

import { createServer, request } from 'node:http';

// authorize listens on a port of the loopback interface, for the server at
// address (HOST:PORT) and the bearer of token. It gives { address, close }.
export async function authorize(address, token) {
  const [host, port] = [address.slice(0, address.lastIndexOf(':')), address.slice(address.lastIndexOf(':') + 1)];
  const proxy = createServer((from, back) => {
    const to = request({
      host, port, method: from.method, path: from.url, agent: false, setHost: false,
      headers: [...from.rawHeaders, 'Authorization', `Bearer ${token}`],
    });
    to.on('response', (answer) => {
      back.writeHead(answer.statusCode, answer.statusMessage, answer.rawHeaders);
      back.flushHeaders(); // a stream may be silent for long
      answer.on('data', (chunk) => back.write(chunk));
      answer.on('end', () => back.end());
      answer.on('error', () => back.destroy());
    });
    to.on('error', () => back.destroy());
    back.on('close', () => to.destroy());
    from.pipe(to);
  });
  proxy.requestTimeout = 0;
  await new Promise((resolve, reject) => {
    proxy.once('error', reject);
    proxy.listen(0, '127.0.0.1', resolve);
  });
  return {
    address: `127.0.0.1:${proxy.address().port}`,
    close: () => new Promise((resolve) => {
      proxy.close(resolve);
      proxy.closeAllConnections();
    }),
  };
}
