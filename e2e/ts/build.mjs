// Builds the program under test.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const module = fileURLToPath(new URL('../..', import.meta.url));

// build makes the binary in a directory of its own, which goes with this process.
export function build(...flags) {
  const dir = mkdtempSync(join(tmpdir(), 'tipstaff-ts-'));
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'tipstaff');
  execFileSync('go', ['build', ...flags, '-o', path, './cmd/tipstaff'], { cwd: module, stdio: 'inherit', timeout: 300_000 });
  return path;
}
