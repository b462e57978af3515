// The server's life: not there, killed, not to be taken from a workspace that is not trusted.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'

import { kill, SERVER, temporary, until, withEditor } from './harness.mjs'

const NO_WINNOW = '/usr/bin:/bin'

/** A small folder to search in. */
function project() {
  const folder = temporary('project')
  writeFileSync(path.join(folder, 'main.py'), 'def main():\n    print("hello")\n')
  return folder
}

/** A program of a name in a folder. */
function program(folder, name, script) {
  mkdirSync(folder, { recursive: true })
  const file = path.join(folder, name)
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return folder
}

const asShell = SERVER.map((word) => `'${word}'`).join(' ')

test('a server that is killed is started again, and one gets the keys that are stored', async () => {
  await withEditor({ folder: project() }, async (editor) => {
    await editor.search('Search Text', 'def main')
    await until(async () => (await editor.rowTexts())[0]?.startsWith('def main'), 'the match')
    await editor.page.keyboard.press('Escape')
    const [first] = editor.processes(/winnow serve/)
    kill(first.pid)
    await until(
      () => editor.processes(/winnow serve/).some((one) => one.pid !== first.pid),
      'another server',
    )
    await editor.search('Search Text', 'print')
    await until(async () => (await editor.rowTexts())[0]?.startsWith('print'), 'a match of the new one')
    assert.match(editor.log(), /The server has ended; it is started again in 0 s/)
    await editor.page.keyboard.press('Escape')

    // A key that is stored is in the environment of the next one, and in no setting or log.
    await editor.command('Winnow: Set Key of a Language Model…')
    await editor.rows.filter({ hasText: 'OPENAI_API_KEY' }).click()
    await editor.titled(/^Winnow: OPENAI_API_KEY$/)
    await editor.page.keyboard.type('sk-of-the-test')
    await editor.page.keyboard.press('Enter')
    const environment = ({ pid }) => readFileSync(`/proc/${pid}/environ`, 'utf-8')
    const hasKey = (one) => environment(one).includes('OPENAI_API_KEY=sk-of-the-test')
    await until(() => editor.processes(/winnow serve/).some(hasKey), 'a server with the key')
    const settings = readFileSync(path.join(editor.data, 'User/settings.json'), 'utf-8')
    assert.doesNotMatch(settings + editor.log(), /sk-of-the-test/)
  })
})

test('where there is no server, one is offered', async () => {
  await withEditor({
    folder: project(),
    settings: { 'winnow.server.command': [] },
    env: { PATH: NO_WINNOW },
  }, async (editor) => {
    await editor.search('Search Text', 'main')
    const offer = editor.page.locator('.notification-list-item', { hasText: 'no server to search with' })
    await offer.waitFor()
    await offer.locator('.monaco-button', { hasText: 'Install It for Me' }).waitFor()
    assert.match(await offer.innerText(), /neither on PATH nor in the selected Python environment/)
    assert.deepEqual(editor.processes(/winnow serve/), [])
  })
})

test('in restricted mode no program of the workspace is run', async () => {
  const folder = project()
  const ran = path.join(folder, 'ran')
  const own = program(path.join(folder, 'bin'), 'winnow', `touch '${ran}'; exec ${asShell} "$@"`)
  const settings = { 'winnow.server.command': [], 'security.workspace.trust.startupPrompt': 'never' }
  const trusted = program(temporary('bin'), 'winnow', `exec ${asShell} "$@"`)
  await withEditor({
    folder,
    settings,
    env: { PATH: `${own}:bin:${trusted}:${process.env.PATH}` },
    trusted: false,
  }, async (editor) => {
    await editor.search('Search Text', 'def main')
    await until(async () => (await editor.rowTexts())[0]?.startsWith('def main'), 'the match')
    assert.match(editor.log(), new RegExp(`Starting Winnow \\S+ ?: ${trusted}`))
    assert.ok(!existsSync(ran))
  })
})
