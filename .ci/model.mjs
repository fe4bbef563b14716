// model.mjs [PORT [TOLD]] is a stand-in for a model, for .ci/clients. It makes the
// calls that it is asked for: "calls [[TOOL, ARGUMENTS], …]", one each turn. A
// TOOL of tipstaff may have any prefix, and "$session" in ARGUMENTS becomes the id
// of the terminal session that an answer has named. At the end it says what the
// last call has answered. It speaks as the models of four vendors do, as far as
// their programs need it. It prints its port, writes to standard error what it
// calls, and to the file TOLD what its client tells it of each answer: a line of
// JSON each.
import fs from 'node:fs'
import http from 'node:http'

const [port = '0', told] = process.argv.slice(2)

// texts are all texts in a value.
const texts = v => typeof v === 'string' ? [v] : v && typeof v === 'object' ? Object.values(v).flatMap(texts) : []

// steps reads the calls that are asked for; opencode quotes what it passes on.
const steps = asked => JSON.parse(asked.startsWith('[[\\"') ? JSON.parse(`"${asked}"`) : asked)

// next says what to do in a conversation: the next call with one of the tools that
// are offered, or what to say. answers are those of the calls so far.
function next(conversation, names, answers) {
	if (!names.length) return { say: 'a title' } // a question aside, as for a title
	if (answers.length && told) fs.appendFileSync(told, JSON.stringify(answers.at(-1)) + '\n')
	const said = texts(conversation)
	const asked = said.map(t => t.match(/calls (\[\[.*\]\])/s)).find(m => m)
	const [name, args] = steps(asked?.[1] ?? '[]')[answers.length] ?? []
	const tool = names.find(n => n === name) ?? names.find(n => n.includes('tipstaff') && n.endsWith(name))
	if (!tool) return { say: 'The tool says: ' + JSON.stringify(answers.at(-1) ?? `nothing; ${name} is not offered`) }
	const session = said.map(t => t.match(/\bterm-[\w.:-]+/)).find(m => m)
	return { tool, args: JSON.parse(JSON.stringify(args).replace('$session', session?.[0])) }
}

const events = (response, list, named) => {
	response.writeHead(200, { 'content-type': 'text/event-stream' })
	for (const e of list) response.write((named ? `event: ${e.type}\n` : '') + `data: ${typeof e === 'string' ? e : JSON.stringify(e)}\n\n`)
	response.end()
}

// Messages, of Claude Code.
function messages(body, response) {
	if (!body.stream) return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens": 1}')
	const answers = body.messages.flatMap(m => Array.isArray(m.content) ? m.content : []).filter(c => c.type === 'tool_result').map(c => c.content)
	const { tool, args, say } = next(body.messages, (body.tools ?? []).map(t => t.name), answers)
	const block = say ? { type: 'text', text: '' } : { type: 'tool_use', id: `toolu_${answers.length}`, name: tool, input: {} }
	const delta = say ? { type: 'text_delta', text: say } : { type: 'input_json_delta', partial_json: JSON.stringify(args) }
	events(response, [
		{ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: body.model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } },
		{ type: 'content_block_start', index: 0, content_block: block },
		{ type: 'content_block_delta', index: 0, delta },
		{ type: 'content_block_stop', index: 0 },
		{ type: 'message_delta', delta: { stop_reason: say ? 'end_turn' : 'tool_use', stop_sequence: null }, usage: { output_tokens: 1 } },
		{ type: 'message_stop' },
	], true)
	return tool
}

// Responses, of Codex. Tools of a server may stand in a namespace.
function responses(body, response) {
	const all = (body.tools ?? []).flatMap(t => t.type === 'namespace' ? t.tools.map(u => ({ name: u.name, namespace: t.name })) : [{ name: t.name ?? t.type }])
	const full = t => (t.namespace ?? '') + t.name
	const answers = (body.input ?? []).filter(i => i.type === 'function_call_output').map(i => i.output)
	const { tool, args, say } = next(body.input, all.map(full), answers)
	const item = say ? { type: 'message', id: 'm1', role: 'assistant', content: [{ type: 'output_text', text: say }] }
		: { type: 'function_call', id: `f${answers.length}`, call_id: `c${answers.length}`, ...all.find(t => full(t) === tool), arguments: JSON.stringify(args) }
	events(response, [
		{ type: 'response.created', response: { id: 'r1' } },
		{ type: 'response.output_item.done', output_index: 0, item },
		{ type: 'response.completed', response: { id: 'r1', usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } } },
	], true)
	return tool
}

// Chat completions, of opencode.
function chat(body, response) {
	const answers = body.messages.filter(m => m.role === 'tool').map(m => m.content)
	const { tool, args, say } = next(body.messages, (body.tools ?? []).map(t => t.function.name), answers)
	const delta = say ? { role: 'assistant', content: say }
		: { role: 'assistant', tool_calls: [{ index: 0, id: `c${answers.length}`, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } }] }
	const chunk = choice => ({ id: 'x', object: 'chat.completion.chunk', created: 1, model: body.model, choices: [{ index: 0, ...choice }] })
	events(response, [chunk({ delta, finish_reason: null }), chunk({ delta: {}, finish_reason: say ? 'stop' : 'tool_calls' }), '[DONE]'])
	return tool
}

// generateContent, of Gemini CLI.
function gemini(body, response, stream) {
	const answers = body.contents.flatMap(c => c.parts).filter(p => p.functionResponse).map(p => p.functionResponse.response)
	const { tool, args, say } = next(body.contents, (body.tools ?? []).flatMap(t => t.functionDeclarations ?? []).map(f => f.name), answers)
	const part = say ? { text: say } : { functionCall: { name: tool, args } }
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
server.listen(Number(port), '127.0.0.1', () => console.log(server.address().port))
