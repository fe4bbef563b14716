// A stand-in for a model, for .ci/clients: whatever it is asked, it calls
// tipstaff's execute_command once, with "git log --oneline", and then says what
// the tool has answered. It speaks as the models of four vendors do, as far as
// their programs need it. It prints its port, and to standard error what tools
// it was offered.
import http from 'node:http'

const args = { command: 'git log --oneline' }
const mine = names => names.find(n => /tipstaff.*execute_command$/.test(n)) ?? names.find(n => n === 'execute_command')

const events = (response, list, named) => {
	response.writeHead(200, { 'content-type': 'text/event-stream' })
	for (const e of list) response.write((named ? `event: ${e.type}\n` : '') + `data: ${typeof e === 'string' ? e : JSON.stringify(e)}\n\n`)
	response.end()
}

// Messages, of Claude Code.
function messages(body, response) {
	const tool = mine((body.tools ?? []).map(t => t.name))
	const done = JSON.stringify(body.messages).match(/"type":"tool_result".*/)
	const block = done || !tool ? { type: 'text', text: '' } : { type: 'tool_use', id: 'toolu_1', name: tool, input: {} }
	const delta = block.type === 'text' ? { type: 'text_delta', text: 'The tool says: ' + (done ? done[0] : 'nothing') } : { type: 'input_json_delta', partial_json: JSON.stringify(args) }
	events(response, [
		{ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: body.model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } },
		{ type: 'content_block_start', index: 0, content_block: block },
		{ type: 'content_block_delta', index: 0, delta },
		{ type: 'content_block_stop', index: 0 },
		{ type: 'message_delta', delta: { stop_reason: block.type === 'text' ? 'end_turn' : 'tool_use', stop_sequence: null }, usage: { output_tokens: 1 } },
		{ type: 'message_stop' },
	], true)
	return tool
}

// Responses, of Codex. Tools of a server may stand in a namespace.
function responses(body, response) {
	const all = (body.tools ?? []).flatMap(t => t.type === 'namespace' ? t.tools.map(u => ({ name: u.name, namespace: t.name })) : [{ name: t.name ?? t.type }])
	const tool = all.find(t => mine([(t.namespace ?? '') + t.name]))
	const done = (body.input ?? []).find(i => i.type === 'function_call_output')
	const item = done || !tool ? { type: 'message', id: 'm1', role: 'assistant', content: [{ type: 'output_text', text: 'The tool says: ' + JSON.stringify(done?.output) }] }
		: { type: 'function_call', id: 'f1', call_id: 'c1', ...tool, arguments: JSON.stringify(args) }
	events(response, [
		{ type: 'response.created', response: { id: 'r1' } },
		{ type: 'response.output_item.done', output_index: 0, item },
		{ type: 'response.completed', response: { id: 'r1', usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } } },
	], true)
	return tool?.name
}

// Chat completions, of opencode.
function chat(body, response) {
	const tool = mine((body.tools ?? []).map(t => t.function.name))
	const done = body.messages.find(m => m.role === 'tool')
	const delta = done || !tool ? { role: 'assistant', content: 'The tool says: ' + JSON.stringify(done?.content) }
		: { role: 'assistant', tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: tool, arguments: JSON.stringify(args) } }] }
	const chunk = choice => ({ id: 'x', object: 'chat.completion.chunk', created: 1, model: body.model, choices: [{ index: 0, ...choice }] })
	events(response, [chunk({ delta, finish_reason: null }), chunk({ delta: {}, finish_reason: delta.tool_calls ? 'tool_calls' : 'stop' }), '[DONE]'])
	return tool
}

// generateContent, of Gemini CLI.
function gemini(body, response, stream) {
	const tool = mine((body.tools ?? []).flatMap(t => t.functionDeclarations ?? []).map(f => f.name))
	const done = JSON.stringify(body.contents).match(/"functionResponse".*/)
	const part = done || !tool ? { text: 'The tool says: ' + (done ? done[0] : 'nothing') } : { functionCall: { name: tool, args } }
	const answer = { candidates: [{ index: 0, finishReason: 'STOP', content: { role: 'model', parts: [part] } }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } }
	if (stream) events(response, [answer])
	else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
	return tool
}

const server = http.createServer((request, response) => {
	let text = ''
	request.on('data', part => { text += part })
	request.on('end', () => {
		let tool
		try {
			const body = JSON.parse(text || '{}')
			const path = request.url.split('?')[0]
			if (path.endsWith('/messages')) tool = messages(body, response)
			else if (path.endsWith('/responses')) tool = responses(body, response)
			else if (path.endsWith('/chat/completions')) tool = chat(body, response)
			else if (/enerateContent$/.test(path)) tool = gemini(body, response, path.includes('stream'))
			else response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"type":"not_found","message":"a stand-in"}}')
		} catch (e) {
			response.end()
			tool = String(e)
		}
		console.error(`model: ${request.method} ${request.url}: ${tool}`)
	})
})
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => console.log(server.address().port))
