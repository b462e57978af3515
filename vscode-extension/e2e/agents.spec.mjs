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

test('every tool in package.json is registered and answers with text for agents', async () => {
  const manifest = JSON.parse(readFileSync(path.join(EXTENSION, 'package.json'), 'utf-8'))
  const contributed = manifest.contributes.languageModelTools.map((tool) => tool.name)
  const registered = (await editor.probe('tools')).map((tool) => tool.name)
  assert.deepEqual(registered.sort(), contributed.sort())
  const input = { pattern: 'def execute_from_command_line', context_lines: 0 }
  const { text, error } = await editor.probe('invokeTool', { name: 'winnow_grep', input })
  assert.equal(error, undefined)
  assert.match(text, /^django\/core\/management\/__init__\.py\n\d+:def execute_from_command_line/)
  const wrong = await editor.probe('invokeTool', { name: 'winnow_grep', input: { pattern: '(' } })
  assert.match(wrong.error, /regex|unclosed/)
  const off = await editor.probe('invokeTool', { name: 'winnow_tools', input: {} })
  assert.ok(off.error, 'an unregistered tool fails')
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
  await editor.titled(/^how are migrations applied in order · probe\/ranker$/)
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

test('the MCP server is registered and starts', async () => {
  await editor.command('MCP: List Servers')
  const row = editor.rows.filter({ hasText: 'Winnow' })
  await row.waitFor()
  await row.click()
  await editor.rows.filter({ hasText: 'Start Server' }).click()
  await until(() => editor.processes(/winnow mcp/).length === 1, 'winnow mcp to run')
})
