// The server: without a model, restarted after a crash, and with several folders.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'

import { kill, program, project, SERVER, temporary, until, withEditor, workspace } from './harness.mjs'

test('without a key, Enter opens the first row, and nobody mentions keys', async () => {
  const settings = { 'winnow.index.enabled': false }
  await withEditor({ folder: workspace(), settings }, async (editor) => {
    await editor.openFile('django/apps/config.py')
    await editor.question('what is MigrationExecutor for')
    const { text, isComplete } = await editor.sees(editor.title, /^what is MigrationExecutor for · local · no index$/)
    assert.ok(isComplete, text)
    const [row] = await editor.visibleRows()
    assert.match(row.text, /^\s*executor\.py:\d+django\/db\/migrations.*\n.*defines MigrationExecutor/)
    await editor.page.keyboard.press('Enter')
    await editor.page.locator('.tab.active', { hasText: 'executor' }).waitFor()
    await editor.seesLine(10, /^class MigrationExecutor:/)
  })
})

test('a killed server restarts, and a server gets the stored keys', async () => {
  await withEditor({ folder: project() }, async (editor) => {
    await editor.search('Search Text', 'def main')
    await editor.sees(editor.first, /def main/)
    await editor.page.keyboard.press('Escape')
    const [first] = editor.processes(/winnow serve/)
    kill(first.pid)
    await until(
      () => editor.processes(/winnow serve/).some(({ pid }) => pid !== first.pid),
      'a new server process',
    )
    await editor.search('Search Text', 'print')
    await editor.sees(editor.first, /print/)
    assert.match(editor.log(), /The server exited; restarting it in 0 s/)
    await editor.page.keyboard.press('Escape')

    // A stored key is in the environment of the next server, but not in settings or logs.
    await editor.menu('Set a key for a language model')
    await editor.rows.filter({ hasText: 'OPENAI_API_KEY' }).click()
    await editor.titled(/^Winnow: OPENAI_API_KEY$/)
    await editor.page.keyboard.type('sk-of-the-test')
    await editor.page.keyboard.press('Enter')
    const environment = ({ pid }) => readFileSync(`/proc/${pid}/environ`, 'utf-8')
    const hasKey = (server) => environment(server).includes('OPENAI_API_KEY=sk-of-the-test')
    await until(() => editor.processes(/winnow serve/).some(hasKey), 'a server with the key')
    const settings = readFileSync(path.join(editor.data, 'User/settings.json'), 'utf-8')
    assert.doesNotMatch(settings + editor.log(), /sk-of-the-test/)
  })
})

test('a file that is only previewed is not open for the server, not even the first one', async () => {
  const settings = { 'winnow.trace.server': 'messages' }
  await withEditor({ folder: project(), settings }, async (editor) => {
    const { page } = editor
    const opened = () => editor.log().split("Sending notification 'textDocument/didOpen").length - 1
    await editor.search('Search Text', 'def main')
    await page.locator('.tab.active', { hasText: 'main.py' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.tab', { hasText: 'main.py' }).waitFor({ state: 'detached' })
    assert.match(editor.log(), /Sending request '\$\/grep - /)
    assert.equal(opened(), 0)
    await editor.search('Search Text', 'print')
    await editor.sees(editor.first, /print/)
    await page.keyboard.press('Enter')
    await until(() => opened() === 1, 'the file that the user opened')
  })
})

const server = `exec ${SERVER.map((word) => `'${word}'`).join(' ')} "$@"`

test('the box says that the server starts, and Enter waits for the first row', async () => {
  const slow = program(temporary('bin'), 'slow', `[ "$1" = serve ] && sleep 5; ${server}`)
  const settings = { 'winnow.server.command': [path.join(slow, 'slow')] }
  await withEditor({ folder: project(), settings }, async (editor) => {
    await editor.search('Search Text', 'def main')
    await editor.sees(editor.first, /^Starting the server…$/)
    await editor.page.keyboard.press('Enter')
    await editor.page.locator('.tab.active', { hasText: 'main.py' }).waitFor()
    await editor.page.locator('.quick-input-widget').first().waitFor({ state: 'hidden' })
  })
})

test('the first step of the walkthrough is done when a server runs', async () => {
  await withEditor({ folder: project() }, async (editor) => {
    await editor.command('Welcome: Open Walkthrough...')
    await editor.rows.filter({ hasText: 'Search with Winnow' }).click()
    const step = (isDone) => editor.page.locator(`[data-done-step-id$="#server"][aria-checked="${isDone}"]`)
    await step(false).waitFor()
    await editor.search('Search Text', 'nowhere in this project')
    await step(true).waitFor()
  })
})

test('a server that ends when it starts is reported once, with its last line', async () => {
  const folder = temporary('bin')
  const ends = "echo 'ModuleNotFoundError: No module named x' >&2; exit 1"
  program(folder, 'broken', `[ "$1" = serve ] || ${server}; ${ends}`)
  const settings = { 'winnow.server.command': [path.join(folder, 'broken')] }
  await withEditor({ folder: project(), settings }, async (editor) => {
    await editor.search('Search', 'where is hello printed')
    await editor.sees(editor.first, /The server ended when it started/)
    assert.match(await editor.first.innerText(), /No module named x/)
    // It is started again for other text.
    await editor.page.keyboard.type(' here')
    await editor.sees(editor.first, /The server ended when it started/)
    const message = editor.notification('Winnow: The server ended when it started: ModuleNotFoundError: No module named x')
    await message.locator('.monaco-button', { hasText: 'Show Log' }).waitFor()
    assert.equal(await editor.notification(/./).count(), 1)
    program(folder, 'broken', server)
    await message.locator('.monaco-button', { hasText: 'Try Again' }).click()
    await until(() => editor.processes(/winnow serve/).length === 1, 'a server')
    assert.match(editor.log(), /ModuleNotFoundError/)
  })
})

test('after five exits the server stays down until the user restarts it', async () => {
  const settings = { 'winnow.trace.server': 'messages' }
  await withEditor({ folder: project(), settings }, async (editor) => {
    await editor.search('Search Text', 'def main')
    await editor.sees(editor.first, /def main/)
    await editor.page.keyboard.press('Escape')
    // The setting enables the trace of messages.
    assert.match(editor.log(), /Sending request '\$\/grep - /)
    const killed = new Set()
    const newServer = () => editor.processes(/winnow serve/).find(({ pid }) => !killed.has(pid))
    // Kill a server only after `initialize`. Before that, it would count as a failed start.
    const starts = () => editor.log().split("Received request 'workspace/configuration").length - 1
    for (let count = 0; count < 5; count++) {
      await until(() => starts() > count && newServer() !== undefined, `server number ${count + 1}`)
      const { pid } = newServer()
      killed.add(pid)
      kill(pid)
    }
    const offer = editor.notification('exited five times within three minutes')
    await offer.waitFor()
    await editor.sees(offer, /exited five times within three minutes/)
    assert.equal(newServer(), undefined)
    await offer.locator('.monaco-button', { hasText: 'Restart' }).click()
    await until(() => newServer() !== undefined, 'a server again')
  })
})

test('without a folder, the box offers to open one', async () => {
  const file = path.join(temporary('empty'), 'empty.code-workspace')
  writeFileSync(file, JSON.stringify({ folders: [] }))
  await withEditor({ folder: file }, async (editor) => {
    await editor.search('Search', 'main')
    await editor.sees(editor.first, /^Open a folder… ?No folder is open\.$/)
    await editor.first.click()
    await editor.titled(/^Open Folder$/)
  })
})

test('while its folder is missing, the server has a problem, but runs', async () => {
  const folder = project()
  await withEditor({ folder }, async (editor) => {
    const status = editor.page.locator('.statusbar-item[id="winnow-ls.winnow.winnow.status"]')
    await editor.search('Search Text', 'def main')
    await editor.sees(editor.first, /def main/)
    renameSync(folder, `${folder}-moved`)
    await editor.sees(status, /^Winnow: index problem$/)
    renameSync(`${folder}-moved`, folder)
    await editor.sees(status, /^Winnow: (?!index problem)/)
  })
})

test('a search covers all folders of a workspace, and the menu changes all indexes', async () => {
  const folders = [project(), project()]
  writeFileSync(path.join(folders[1], 'only.py'), 'class Here:\n    pass\n\n\nclass OnlyHere:\n    pass\n')
  const file = path.join(temporary('workspace'), 'two.code-workspace')
  writeFileSync(file, JSON.stringify({ folders: folders.map((folder) => ({ path: folder })) }))
  await withEditor({ folder: file }, async (editor) => {
    const { page } = editor
    await editor.search('Search Text', 'def main')
    await until(async () => (await editor.rowTexts()).length === 2, 'a match in each folder')
    const shown = (await editor.rowTexts()).join('\n')
    for (const folder of folders) assert.ok(shown.includes(path.basename(folder)), shown)
    await page.keyboard.press('Escape')
    await editor.search('Search Symbols', 'OnlyHere')
    await editor.sees(editor.first, /^OnlyHere/)
    await page.keyboard.press('Enter')
    await page.locator('.tab.active', { hasText: 'only' }).waitFor()
    await until(async () => (await editor.position.innerText()) === 'Ln 5, Col 7', 'the line')

    const choose = async (label) => {
      await page.locator('.statusbar-item[id="winnow-ls.winnow.winnow.status"] a').click()
      await editor.titled(/^Winnow$/)
      await editor.rows.filter({ hasText: label }).click()
    }
    const indexed = (folder) => existsSync(path.join(folder, '.winnow'))
    const status = page.locator('.statusbar-item[id="winnow-ls.winnow.winnow.status"]')
    await choose('Build or update the index')
    await until(() => folders.every(indexed), 'two indexes')
    await until(async () => (await status.innerText()).trim() === 'Winnow: ready', async () =>
      `a ready index in the status bar; it shows ${await status.innerText()}`,
    )
    assert.deepEqual((await editor.sees(status, /ready/)).isComplete, true)
    await choose('Pause indexing')
    await status.locator('.codicon-debug-pause').waitFor()
    await choose('Resume indexing')
    await status.locator('.codicon-search').waitFor()
    await choose('Delete the index')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const isSmall = (folder) => !readdirSync(path.join(folder, '.winnow')).some((name) => name.endsWith('.seg'))
    await until(() => folders.every((folder) => !indexed(folder) || isSmall(folder)), 'no index')
  })
})
