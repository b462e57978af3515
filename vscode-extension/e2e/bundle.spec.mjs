// The extension for a platform, with the server inside, on a machine without Python and network.
//
// WINNOW_BUNDLE is its .vsix, from `scripts/build bundle`; without it, the test is skipped.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { project, startModel, temporary, withEditor } from './harness.mjs'
import { install, packaged } from './packages.mjs'

const { WINNOW_BUNDLE: bundle, WINNOW_OFFLINE: isOffline } = process.env
/** The maximum time to install the extension and get the first answer, not counting the start of the editor. */
const FIRST_ANSWER_MS = 60_000
/** The programs that code-server's own scripts need. */
const PROGRAMS = ['sh', 'bash', 'env', 'uname', 'dirname', 'readlink', 'getconf']

/** Create a folder with only these programs, for PATH. */
function onlyThesePrograms() {
  const folder = temporary('programs')
  for (const name of PROGRAMS) symlinkSync(execFileSync('which', [name], { encoding: 'utf-8' }).trim(), path.join(folder, name))
  return folder
}

/** Return the model that ranks a search of a program when it is asked to. */
function rankedBy(name, models, program) {
  const home = temporary('home')
  const config = path.join(home, 'config.toml')
  const lines = Object.entries(models[name]).map(([key, value]) => `${key} = "${value}"`)
  writeFileSync(config, [`[llm.models.${name}]`, ...lines].join('\n'))
  const query = ['keyword-search', 'where is hello printed', 'hello', '--ranker', 'llm', '--model', name, '--json']
  const env = { PATH: '', HOME: home, WINNOW_CONFIG: config, WINNOW_BACKGROUND: '0' }
  const answer = execFileSync(program, query, { cwd: project(), env, encoding: 'utf-8' })
  return JSON.parse(answer).ranked_by.model
}

/** Return the names of the tools that the MCP server of a program offers. */
async function toolsOf(program) {
  const clientInfo = { name: 'test', version: '1' }
  const messages = [
    { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
  ]
  const input = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('')
  const env = { PATH: '', HOME: temporary('home'), WINNOW_BACKGROUND: '0' }
  const server = spawn(program, ['mcp'], { cwd: project(), env, stdio: ['pipe', 'pipe', 'inherit'] })
  server.stdin.write(input)
  let tools
  for await (const line of createInterface({ input: server.stdout })) {
    const { id, result } = JSON.parse(line)
    if (id !== 2) continue
    tools = result.tools.map(({ name }) => name)
    // The end of the input would cancel a request.
    server.stdin.end()
  }
  return tools
}

async function answersWithoutPython() {
  const env = { PATH: onlyThesePrograms(), PYTHONPATH: '' }
  const installing = Date.now()
  const extensions = install([bundle, packaged('probe')], temporary('extensions'), temporary('install'), { ...process.env, ...env })
  const installMs = Date.now() - installing
  const model = await startModel()
  const models = {
    openai: { provider: 'openai', model: 'some', base_url: `${model.address}/v1` },
    anthropic: { provider: 'anthropic', model: 'some', base_url: model.address },
  }
  const settings = { 'winnow.server.command': [], 'winnow.llm.models': models }
  const answers = withEditor({ folder: project(), settings, env, extensions }, async (editor) => {
    const asking = Date.now()
    await editor.search('Search Text', 'def main')
    await editor.sees(editor.first, /^main\.py:1 def main/)
    const answerMs = Date.now() - asking
    const times = `installing took ${installMs} ms, and the first answer ${answerMs} ms`
    console.log(times)
    assert.ok(installMs + answerMs < FIRST_ANSWER_MS, times)
    const [server] = editor.processes(/winnow serve/)
    const [program] = server.command.split(' serve')
    assert.match(program, new RegExp(`^${extensions}/winnow-ls\\.winnow-[^/]+/server/winnow$`))
    const [, searchPath] = /(?:^|\0)PATH=([^\0]*)/.exec(readFileSync(`/proc/${server.pid}/environ`, 'utf-8'))
    const found = searchPath.split(':').filter(existsSync).flatMap((folder) => readdirSync(folder))
    assert.deepEqual(found.filter((name) => /^(python|py|winnow|rg)/.test(name)), [])
    await editor.page.keyboard.press('Escape')
    // Symbols come from a child process with the grammars.
    await editor.search('Search Symbols', 'main')
    await editor.sees(editor.first, /^main/)
    await editor.page.keyboard.press('Escape')
    // Questions need numpy, and a model needs the packages of its provider.
    await editor.question('where is hello printed')
    await editor.sees(editor.first, /^main\.py/)
    await editor.titled(/ · Enter asks openai$/)
    await editor.page.keyboard.press('Enter')
    await editor.answered('openai')
    for (const name of Object.keys(models)) assert.equal(rankedBy(name, models, program), name)
    assert.deepEqual((await toolsOf(program)).sort(), ['grep', 'read', 'references', 'search'])
  })
  // A running model keeps the test from ending.
  await answers.finally(() => model.stop())
}

/** Run this file again in a network of its own, which has only this machine. */
function runOffline() {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const script = 'ip link set lo up && exec "$0" "$@"'
  const command = ['-rn', 'sh', '-c', script, process.execPath, fileURLToPath(import.meta.url)]
  execFileSync('unshare', command, { env: { ...env, WINNOW_OFFLINE: '1' }, stdio: 'inherit' })
}

test('the extension for a platform answers without Python and without network', {
  skip: !bundle && 'WINNOW_BUNDLE is not set',
}, isOffline ? answersWithoutPython : runOffline)
