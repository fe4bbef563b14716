// A line to a server that can be cut, as networks do: whoever is on it is gone
// for the other side at once.

import { connect, createServer } from 'node:net';
import { once } from 'node:events';

export class Line {
  #sockets = new Set();

  // to leads to a server at a URL. It gives a URL of its own.
  async to(url) {
    const { hostname, port } = new URL(url);
    this.server = createServer((near) => {
      const far = connect(Number(port), hostname);
      for (const [one, other] of [[near, far], [far, near]]) {
        this.#sockets.add(one);
        one.pipe(other);
        one.on('error', () => {}); // told to the other side by its end
        one.on('close', () => { this.#sockets.delete(one); other.destroy(); });
      }
    }).listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return url.replace(port, this.server.address().port);
  }

  // cut ends every connection. New ones may come.
  cut() { for (const socket of this.#sockets) socket.destroy(); }

  close() {
    this.server?.close();
    this.cut();
  }
}
