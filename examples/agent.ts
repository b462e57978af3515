/**
 * A small agent: a language model that searches the current folder with Winnow's tools.
 *
 *     npm install vscode-jsonrpc@10
 *     OPENAI_API_KEY=… node agent.ts "where are plugins loaded?" gpt-5-mini
 *
 * It starts `winnow serve`, passes the tools of `$/tools` to the model, and runs the model's tool calls
 * with `$/callTool`. Any server with OpenAI's API works (OPENAI_BASE_URL). Needs `winnow` on PATH (or
 * WINNOW_COMMAND) and Node.js 22.18 or newer; on Node.js 20, `npx tsx agent.ts` runs it.
 */
import type { MessageConnection } from 'vscode-jsonrpc/node'

interface Tool {
  readonly name: string
  readonly description: string
  readonly input_schema: { readonly properties: Record<string, unknown> }
}

interface Call {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

interface Message {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly Call[]
  readonly tool_call_id?: string
}

const TURNS = 12
// The default size limit of a tool's answer: the model reads every answer again in each turn.
const MAX_TOKENS = 4000
const SYSTEM = 'Answer the question about the code in the current folder, with the files and lines.'

/** Runs `work` with a language server for the folder, and stops the server afterwards. */
async function withWinnow<T>(
  folder: string,
  work: (winnow: MessageConnection) => Promise<T>,
): Promise<T> {
  // Imported here, and not at the top, so that the file runs with any "type" in package.json.
  const { spawn } = await import('node:child_process')
  const { basename } = await import('node:path')
  const { pathToFileURL } = await import('node:url')
  const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = await import(
    'vscode-jsonrpc/node'
  )

  const [program = 'winnow', ...before] = (process.env.WINNOW_COMMAND ?? 'winnow').split(' ')
  const server = spawn(program, [...before, 'serve'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const failed = new Promise<never>((_, reject) => server.once('error', reject))
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  const winnow = createMessageConnection(
    new StreamMessageReader(server.stdout),
    new StreamMessageWriter(server.stdin),
  )
  winnow.listen()
  try {
    const uri = pathToFileURL(folder).href
    const initialize = winnow.sendRequest('initialize', {
      processId: process.pid,
      capabilities: {},
      rootUri: uri,
      workspaceFolders: [{ uri, name: basename(folder) }],
    })
    await Promise.race([initialize, failed])
    await winnow.sendNotification('initialized', {})
    return await work(winnow)
  } finally {
    if (server.pid !== undefined) {
      await winnow.sendRequest('shutdown')
      await winnow.sendNotification('exit')
      await ended
    }
    winnow.dispose()
  }
}

/** Returns the model's next message. */
async function complete(model: string, messages: Message[], tools: unknown): Promise<Message> {
  const address = process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1'
  const response = await fetch(`${address}/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${process.env.OPENAI_API_KEY}`,
    },
    body: JSON.stringify({ model, messages, tools }),
  })
  if (!response.ok) throw new Error(`Model error ${response.status}: ${await response.text()}`)
  const { choices } = (await response.json()) as { choices: { message: Message }[] }
  const message = choices[0]?.message
  if (!message) throw new Error('The model returned no message')
  return message
}

/** Returns the model's final answer. */
async function answer(question: string, model: string, winnow: MessageConnection): Promise<string> {
  const { tools } = await winnow.sendRequest<{ tools: Tool[] }>('$/tools', {})
  const limited = new Set(
    tools.filter((tool) => 'max_tokens' in tool.input_schema.properties).map((tool) => tool.name),
  )
  const functions = tools.map(({ name, description, input_schema }) => ({
    type: 'function',
    function: { name, description, parameters: input_schema },
  }))

  /** Returns a tool's answer, or the error, so that the model can correct the call. */
  async function call({ name, arguments: text }: Call['function']): Promise<string> {
    try {
      const given = JSON.parse(text) as object
      const params = { ...(limited.has(name) ? { max_tokens: MAX_TOKENS } : {}), ...given }
      const request = { name, arguments: params }
      return (await winnow.sendRequest<{ text: string }>('$/callTool', request)).text
    } catch (error) {
      return `Error: ${error instanceof Error ? error.message : error}`
    }
  }

  const messages: Message[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: question },
  ]
  for (let turn = 0; turn < TURNS; turn++) {
    const message = await complete(model, messages, functions)
    if (!message.tool_calls?.length) return message.content ?? ''
    messages.push(message)
    const texts = await Promise.all(message.tool_calls.map((item) => call(item.function)))
    message.tool_calls.forEach((item, place) => {
      console.error(item.function.name, item.function.arguments)
      messages.push({ role: 'tool', tool_call_id: item.id, content: texts[place] ?? '' })
    })
  }
  return `No answer after ${TURNS} turns`
}

async function main(): Promise<void> {
  const [question, model = 'gpt-5-mini'] = process.argv.slice(2)
  if (question === undefined) {
    console.error('usage: node agent.ts QUESTION [MODEL]')
    process.exitCode = 2
  } else {
    console.log(await withWinnow(process.cwd(), (winnow) => answer(question, model, winnow)))
  }
}

void main()
