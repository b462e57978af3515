// Definitions and references beside another extension that handles the language.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'

import { kill, program, project, SERVER, temporary, until, withEditor } from './harness.mjs'

test('a language that another extension handles is left to it', async () => {
  const folder = project()
  const file = path.join(folder, 'main.py')
  writeFileSync(path.join(folder, 'other.py'), 'from main import main\n\nmain()\n')
  writeFileSync(path.join(folder, 'main.rs'), 'fn other() {\n    main()\n}\nfn main() {}\n')
  // On PATH, because a setting for this machine doesn't survive a change of other settings.
  const winnow = program(temporary('bin'), 'winnow', `exec ${SERVER.map((word) => `'${word}'`).join(' ')} "$@"`)
  const settings = { 'winnow.server.command': [] }
  const env = { PATH: `${winnow}:${process.env.PATH}` }
  await withEditor({ folder, settings, env }, async (editor) => {
    const { page } = editor
    const position = { file, line: 0, character: 5 }
    const references = async (place = position) =>
      (await editor.probe('references', place)).map((found) => path.relative(folder, found)).sort()
    const symbols = async () =>
      (await editor.probe('workspaceSymbols', { query: 'main' })).map((name) => path.basename(name)).sort()
    const menu = async (pattern) => {
      await editor.command('Winnow: Menu')
      await editor.sees(editor.rows.filter({ hasText: 'Definitions and references' }), pattern)
      await page.keyboard.press('Escape')
    }
    await editor.search('Search Text', 'def main')
    await editor.sees(editor.first, /^main\.py:1 def main/)
    await page.keyboard.press('Escape')
    await editor.openFile('main.py')
    const own = ['main.py:1', 'other.py:1', 'other.py:3']
    assert.deepEqual(await references(), own)
    assert.deepEqual(await symbols(), ['main.py', 'main.rs'])
    await menu(/For all languages/)

    // The other extension starts later.
    await editor.probe('otherLanguageServer')
    assert.deepEqual(await references(), ['main.py:1'])
    await menu(/Left to other extensions: python(?! ·)/)
    await until(async () => (await symbols()).join() === 'main.rs', 'the symbols of Rust in time')
    const rust = { file: path.join(folder, 'main.rs'), line: 3, character: 4 }
    assert.deepEqual(await references(rust), ['main.rs:2', 'main.rs:4'])

    // Both answer, unless the server takes too long.
    await editor.probe('configure', { settings: { 'winnow.provideLanguageFeatures': 'on' } })
    await until(() => editor.log().split('The server started in').length === 3, 'the server to restart')
    await until(async () => (await references()).join() === own.join(), 'the results of both')
    await menu(/Shared with other extensions: python/)
    const [{ pid }] = editor.processes(/winnow serve/)
    kill(pid, 'SIGSTOP')
    try {
      assert.deepEqual(await references(), ['main.py:1'])
      await menu(/Shared with other extensions: python · \d+ answers? came too late/)
    } finally {
      kill(pid, 'SIGCONT')
    }
  })
})
