// A line to a server that can be cut, as networks do: whoever is on it is gone
// for the other side at once. Or it is half closed: only the client has lost it then,
// and the server takes it for alive.

import { connect, createServer } from 'node:net';
import { once } from 'node:events';

export class Line {
  #sockets = new Set();
  #pairs = [];

  // to leads to a server at a URL. It gives a URL of its own.
  async to(url) {
    const { hostname, port } = new URL(url);
    this.server = createServer((near) => {
      const far = connect(Number(port), hostname);
      this.#pairs.push([near, far]);
      for (const [one, other] of [[near, far], [far, near]]) {
        this.#sockets.add(one);
        one.pipe(other);
        one.on('error', () => {}); // told to the other side by its end
        one.on('close', () => { this.#sockets.delete(one); if (!far.forgotten) other.destroy(); });
      }
    }).listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return url.replace(port, this.server.address().port);
  }

  // cut ends every connection. New ones may come.
  cut() { for (const socket of this.#sockets) socket.destroy(); }

  // forget closes the client's side of every connection. The server's side stays open,
  // and is read no more.
  forget() {
    for (const [near, far] of this.#pairs.splice(0)) {
      if (near.destroyed) continue;
      far.forgotten = true;
      near.unpipe(far);
      far.unpipe(near);
      far.pause();
      near.destroy();
    }
  }

  close() {
    this.server?.close();
    for (const socket of this.#sockets) socket.forgotten = false;
    this.cut();
  }
}
