// The tools for agents in the editor, and the editor's own model as the ranker.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import * as path from 'node:path'
import { after, before, test } from 'node:test'

import { EXTENSION, startEditor, until, workspace } from './harness.mjs'

let editor
let folder

before(async () => {
  folder = workspace(['django'])
  const settings = {
    'winnow.editorModel.enabled': true,
    'winnow.editorModel.selector': { vendor: 'probe' },
    'winnow.index.enabled': false,
  }
  editor = await startEditor({ folder, settings })
})

after(() => editor?.close())

/** Return the number of tools in the chat's picker, and those of Winnow that are in sight. */
async function offeredTools() {
  await editor.probe('command', { id: 'workbench.action.chat.open', args: [{ mode: 'agent' }] })
  await editor.page.locator('.interactive-session').first().waitFor()
  await editor.probe('command', { id: 'workbench.action.chat.configureTools' })
  await editor.titled(/^Configure Tools$/)
  const picker = editor.page.locator('.quick-input-widget:visible')
  const count = Number(/\d+/.exec(await picker.getByText(/^\d+ Selected$/).innerText()))
  const rows = picker.locator('.monaco-list-row')
  const group = rows.filter({ hasText: 'Winnow: Search' })
  if (await group.count()) await group.locator('.monaco-tl-twistie').click()
  const names = await rows.filter({ hasText: /winnow_/ }).allInnerTexts()
  await editor.page.keyboard.press('Escape')
  await picker.waitFor({ state: 'hidden' })
  return { count, names: names.map((text) => /winnow_[a-z]+/.exec(text)[0]).sort() }
}

async function offer(tools) {
  await editor.probe('configure', { settings: { 'winnow.tools': tools } })
}

const grep = { name: 'winnow_grep', input: { pattern: 'def execute_from_command_line', context_lines: 0 } }
const glob = { name: 'winnow_glob', input: { pattern: 'handbook.*' } }

test('agents get four tools, which answer with text', async () => {
  const { text, error } = await editor.probe('invokeTool', grep)
  assert.equal(error, undefined)
  assert.match(text, /^django\/core\/management\/__init__\.py\n\d+:def execute_from_command_line/)
  const wrong = await editor.probe('invokeTool', { name: 'winnow_grep', input: { pattern: '(' } })
  assert.match(wrong.error, /regex|unclosed/)
  const found = await editor.probe('invokeTool', { name: 'winnow_search', input: { query: 'MigrationExecutor' } })
  assert.match(found.text, /django\/db\/migrations\/executor\.py/)
  assert.ok((await editor.probe('invokeTool', glob)).error, 'a tool that is not offered fails')
  const { names } = await offeredTools()
  assert.deepEqual(names, ['winnow_grep', 'winnow_read', 'winnow_references', 'winnow_search'])
})

test('the setting offers all tools, or none', async () => {
  const manifest = JSON.parse(readFileSync(path.join(EXTENSION, 'package.json'), 'utf-8'))
  const contributed = manifest.contributes.languageModelTools.length
  const { count } = await offeredTools()
  await offer('all')
  await until(async () => /docs\/handbook\.pdf/.test((await editor.probe('invokeTool', glob)).text), 'all tools')
  // The tool for shell commands has a setting of its own.
  await until(async () => (await offeredTools()).count === count - 4 + contributed - 1, 'all tools in the picker')
  await offer('off')
  await until(async () => (await editor.probe('invokeTool', grep)).error, 'no tool')
  await until(async () => (await offeredTools()).count === count - 4, 'no tool in the picker')
  await offer(null)
  await until(async () => (await editor.probe('invokeTool', grep)).text, 'the four tools')
})

test("tools exclude the editor's excluded files", async () => {
  const call = {
    name: 'winnow_grep',
    input: { pattern: 'def execute_from_command_line', mode: 'files' },
  }
  await editor.probe('configure', { settings: { 'search.exclude': { '**/core/management': true } } })
  const { text } = await editor.probe('invokeTool', call)
  await editor.probe('configure', { settings: { 'search.exclude': null } })
  assert.doesNotMatch(text, /management\/__init__/)
  assert.match((await editor.probe('invokeTool', call)).text, /management\/__init__/)
})

test("Enter asks the editor's own model, which is named in the title", async () => {
  await editor.question('how are migrations applied in order')
  await editor.titled(/ · Enter asks /)
  await editor.page.keyboard.press('Enter')
  await editor.titled(/^how are migrations applied in order · probe\/ranker(?: · no index)?$/)
  await editor.sees(editor.first, /chosen by the model/)
  const prompt = readFileSync(path.join(editor.data, 'prompt.txt'), 'utf-8')
  assert.match(prompt, /how are migrations applied in order/)
  await editor.page.keyboard.press('Escape')
})

test("the editor's own command finds references", async () => {
  const file = path.join(folder, 'django/db/migrations/executor.py')
  const line = readFileSync(file, 'utf-8').split('\n').findIndex((text) => text.includes('class MigrationExecutor'))
  const references = await editor.probe('references', { file, line, character: 8 })
  const files = references.map((place) => path.relative(folder, place).replace(/:\d+$/, ''))
  assert.ok(files.includes('django/core/management/commands/migrate.py'), files.join('\n'))
})

test('the MCP server is there on request, and then instead of the tools', async () => {
  const servers = async () => {
    await editor.command('MCP: List Servers')
    await editor.rows.first().waitFor()
    return editor.rows.filter({ hasText: 'Winnow' })
  }
  assert.equal(await (await servers()).count(), 0)
  await editor.page.keyboard.press('Escape')
  await offer('mcp')
  await until(async () => (await editor.probe('invokeTool', grep)).error, 'no tool')
  const row = await servers()
  await row.waitFor()
  await row.click()
  await editor.rows.filter({ hasText: 'Start Server' }).click()
  await until(() => editor.processes(/winnow mcp/).length === 1, 'winnow mcp to run')
})
