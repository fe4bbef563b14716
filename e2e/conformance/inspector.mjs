// The Inspector, in command-line mode, over both transports and in both eras: a
// third client, which people use to find out what a server says.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { dir, place, run, serve } from './servers.mjs';

const inspector = createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json');
const program = join(dirname(inspector), 'clients/launcher/build/index.js');

// Which era it was shows in what only the stateless protocol puts into answers.
const eras = { legacy: false, auto: true, modern: true };
const serverInfo = 'io.modelcontextprotocol/serverInfo';

// inspect gives what is wrong.
export async function inspect(tipstaff) {
  const http = await serve(tipstaff, ['serve', '--http', '127.0.0.1:0']);
  const { cwd, env } = place();
  const own = Object.entries(env).filter(([name]) => name !== 'HOME').flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const targets = {
    stdio: [...own, '--', tipstaff, 'serve'],
    http: ['--server-url', `http://${http.address}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${http.token}`],
  };
  const wrong = [];
  for (const [transport, target] of Object.entries(targets)) {
    for (const [era, stateless] of Object.entries(eras)) {
      const ask = async (...what) => {
        const { code, stdout, stderr } = await run(process.execPath, [program, '--cli', '--protocol-era', era, '--format', 'json', ...what, ...target], { cwd, env });
        assert.equal(code, 0, stderr);
        return JSON.parse(stdout).result;
      };
      try {
        const { tools } = await ask('--method', 'tools/list');
        assert.deepEqual(tools.map((t) => t.name), ['execute_command', 'execute_process', 'read_output', 'stop_command', 'write_input']);
        const called = await ask('--method', 'tools/call', '--tool-name', 'execute_command', '--tool-arg', 'command=echo hello');
        assert.match(called.content[0].text, /exit_code: 0\n.*hello/s);
        assert.equal(called._meta?.[serverInfo]?.name, stateless ? 'tipstaff' : undefined, 'the era is another one');
        console.log(`Inspector, ${transport}, ${era}: tools/list and tools/call are well`);
      } catch (err) {
        wrong.push(`Inspector, ${transport}, ${era}: ${err.message}`);
      }
    }
  }
  await http.close();
  return wrong;
}
