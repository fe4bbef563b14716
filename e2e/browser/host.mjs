// A small host of MCP Apps (2026-01-26): it shows the page of a tool in a frame
// without an origin, and carries messages between it and the server.

import { visitor } from './browser.mjs';

const html = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>host</title></head><body><main><h1>A host</h1>
<iframe id="view" title="the page" sandbox="allow-scripts" style="width:100%;height:400px;border:0"></iframe></main></body></html>`;

// contentPolicy is what the specification has a host make of the metadata.
function contentPolicy(csp = {}) {
  const all = (list) => (list ?? []).join(' ');
  return [
    "default-src 'none'", `script-src 'self' 'unsafe-inline' ${all(csp.resourceDomains)}`, `style-src 'self' 'unsafe-inline' ${all(csp.resourceDomains)}`,
    `connect-src 'none' ${all(csp.connectDomains)}`.replace("'none' ", csp.connectDomains?.length ? '' : "'none'"), `img-src 'self' data: ${all(csp.resourceDomains)}`,
    `frame-src ${all(csp.frameDomains) || "'none'"}`, "object-src 'none'", `base-uri ${all(csp.baseUriDomains) || "'self'"}`,
  ].join('; ');
}

export const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };

// Host shows the page of one call.
export class Host {
  asked = []; // what the page has asked of the server
  sizes = [];

  constructor(server) { this.server = server; }

  // open shows the page for a call with these arguments.
  async open(name, args, context = {}, with_) {
    const tools = (await this.server.ask('tools/list', {})).tools;
    const mayCall = new Set(tools.filter((t) => (t._meta?.ui?.visibility ?? ['model', 'app']).includes('app')).map((t) => t.name));
    const tool = tools.find((t) => t.name === name);
    const [content] = (await this.server.ask('resources/read', { uri: tool._meta.ui.resourceUri })).contents;
    if (content.mimeType !== 'text/html;profile=mcp-app') throw new Error(`it is ${content.mimeType}`);
    const { page, context: window, faults } = await visitor(with_);
    Object.assign(this, { page, window, faults });
    await page.route('http://host.test/**', (route) => route.fulfill({ contentType: 'text/html', body: html, headers: { 'Content-Security-Policy': contentPolicy(content._meta.ui.csp).replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace("frame-src 'none'", "frame-src 'self'") } }));
    await page.exposeFunction('toServer', async (method, params) => {
      this.asked.push({ method, params });
      if (method !== 'tools/call' || !mayCall.has(params.name)) return { error: { code: -32000, message: `a page may not ask for ${method} ${params?.name}` } };
      try {
        return { result: await this.server.ask(method, params) };
      } catch (fault) {
        return { error: { code: -32000, message: fault.message } };
      }
    });
    await page.exposeFunction('sized', (size) => this.sizes.push(size));
    await page.goto('http://host.test/');
    await page.evaluate(([text, args, hostContext]) => {
      const frame = document.getElementById('view');
      const say = (m) => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...m }, '*');
      let ready; // a page is told nothing before it has said that it is ready
      const whenReady = new Promise((resolve) => { ready = resolve; });
      window.say = (m) => whenReady.then(() => say(m));
      addEventListener('message', async (event) => {
        const m = event.data;
        if (event.source !== frame.contentWindow || m?.jsonrpc !== '2.0' || m.method === undefined) return;
        if (m.method === 'ui/initialize') {
          say({ id: m.id, result: { protocolVersion: '2026-01-26', hostInfo: { name: 'e2e', version: '1' }, hostCapabilities: { serverTools: {} }, hostContext } });
        } else if (m.method === 'ui/notifications/initialized') {
          say({ method: 'ui/notifications/tool-input', params: { arguments: args } });
          ready();
        } else if (m.method === 'ui/notifications/size-changed') {
          frame.style.height = `${Math.min(m.params.height, 600)}px`;
          window.sized(m.params);
        } else if (m.id !== undefined) {
          say({ id: m.id, ...await window.toServer(m.method, m.params) });
        }
      });
      frame.srcdoc = text;
    }, [content.text, args, { theme: 'light', ...context }]);
    this.frame = page.frameLocator('#view');
    return this;
  }

  // answered tells the page the answer of the call.
  answered(result) { return this.page.evaluate((params) => window.say({ method: 'ui/notifications/tool-result', params }), result); }

  close() { return this.window?.close(); }
}
