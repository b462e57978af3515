// The server's life: not there, killed, not to be taken from a workspace that is not trusted.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'

import { CHECKOUT, kill, PYTHON, SERVER, temporary, until, withEditor, workspace } from './harness.mjs'

const NO_WINNOW = '/usr/bin:/bin'
/** Packages are fetched: numpy and the grammars are some 50 MB. */
const INSTALL_PATIENCE = 300_000

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

test('without a key the local ranker gives the order, and the reasons', async () => {
  await withEditor({ folder: workspace() }, async (editor) => {
    await editor.openFile('django/apps/config.py')
    await editor.question('what is MigrationExecutor for')
    await editor.page.keyboard.press('Enter')
    await editor.titled(/ranked locally: no language model has a key.* · 5 files/)
    assert.match((await editor.rowTexts())[0], /^executor\.py:\d+ ?django.* defines MigrationExecutor/)
    await editor.page.keyboard.press('ArrowDown')
    await editor.page.locator('.tab.active', { hasText: 'migrate' }).waitFor()
    await editor.page.keyboard.press('ArrowUp')
    await editor.page.locator('.tab.active', { hasText: 'executor' }).waitFor()
    await editor.screenshot('local-ranking')
  })
})

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

test('one that ends again and again is given up, and starts when somebody says so', async () => {
  const settings = { 'winnow.trace.server': 'messages' }
  await withEditor({ folder: project(), settings }, async (editor) => {
    await editor.search('Search Text', 'def main')
    await until(async () => (await editor.rowTexts())[0]?.startsWith('def main'), 'the match')
    await editor.page.keyboard.press('Escape')
    // What goes over the wire is traced where the settings say so.
    assert.match(editor.log(), /Sending request '\$\/grep - /)
    const killed = new Set()
    const another = () => editor.processes(/winnow serve/).find((one) => !killed.has(one.pid))
    for (let times = 0; times < 5; times++) {
      await until(() => another() !== undefined, `server number ${times + 1}`)
      const { pid } = another()
      killed.add(pid)
      kill(pid)
    }
    const offer = editor.notification('has ended five times within three minutes')
    await offer.waitFor()
    assert.equal(another(), undefined)
    await offer.locator('.monaco-button', { hasText: 'Restart' }).click()
    await until(() => another() !== undefined, 'a server again')
  })
})

test('where there is no server, one is offered, and installed into an environment of its own', {
  timeout: 2 * INSTALL_PATIENCE,
}, async () => {
  const python = program(temporary('python'), 'python3', `exec '${PYTHON}' "$@"`)
  await withEditor({
    folder: project(),
    settings: { 'winnow.server.command': [], 'winnow.server.package': 'winnow-ls-of-nobody' },
    env: { PATH: `${python}:${NO_WINNOW}`, PYTHONPATH: '' },
  }, async (editor) => {
    const missing = 'no server to search with'
    const install = async () => {
      const offer = editor.notification(missing)
      await offer.waitFor()
      assert.match(await offer.innerText(), /neither on PATH nor in the selected Python environment/)
      assert.deepEqual(editor.processes(/winnow serve/), [])
      await offer.locator('.monaco-button', { hasText: 'Install It for Me' }).click()
    }
    const environment = path.join(editor.data, 'User/globalStorage/winnow-ls.winnow/venv')
    await editor.search('Search Text', 'main')
    await install()
    // What cannot be installed is said, and nothing of it stays.
    const failed = editor.notification('the server cannot be installed')
    await failed.waitFor({ timeout: INSTALL_PATIENCE })
    assert.match(await failed.innerText(), /No matching distribution found for winnow-ls-of-nobody/)
    assert.ok(!existsSync(environment))
    assert.match(editor.log(), /pip install .*winnow-ls-of-nobody/)

    await editor.probe('configure', { settings: { 'winnow.server.package': CHECKOUT } })
    await editor.search('Search Text', 'def main')
    await install()
    const done = editor.notification(/Winnow \d+\.\d+\.\S+ is installed and runs/)
    await done.waitFor({ timeout: INSTALL_PATIENCE })
    const own = path.join(environment, 'bin')
    assert.equal(editor.processes(new RegExp(`${own}/.*winnow serve`)).length, 1)
    await editor.search('Search Text', 'def main')
    await until(async () => (await editor.rowTexts())[0]?.startsWith('def main'), 'the match')
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

test('the folders of a workspace are searched together, and the menu changes the index of all', async () => {
  const [one, other] = [project(), project()]
  writeFileSync(path.join(other, 'only.py'), 'class Here:\n    pass\n\n\nclass OnlyHere:\n    pass\n')
  const file = path.join(temporary('workspace'), 'two.code-workspace')
  writeFileSync(file, JSON.stringify({ folders: [{ path: one }, { path: other }] }))
  await withEditor({ folder: file }, async (editor) => {
    const { page } = editor
    await editor.search('Search Text', 'def main')
    await until(async () => (await editor.rowTexts()).length === 2, 'a match in each folder')
    const shown = (await editor.rowTexts()).join('\n')
    for (const folder of [one, other]) assert.ok(shown.includes(path.basename(folder)), shown)
    await page.keyboard.press('Escape')
    await editor.search('Search Symbols', 'OnlyHere')
    await until(async () => (await editor.rowTexts())[0]?.startsWith('OnlyHere'), 'the class')
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
    await choose('Build the index')
    await until(() => indexed(one) && indexed(other), 'two indexes')
    await until(async () => (await status.innerText()).trim() === '3', async () =>
      `3 files in the status bar, it is ${await status.innerText()}`,
    )
    await choose('Pause indexing')
    await status.locator('.codicon-debug-pause').waitFor()
    await choose('Go on indexing')
    await status.locator('.codicon-search').waitFor()
    await choose('Delete the index')
    await until(async () => (await status.innerText()).trim() === '0', async () =>
      `no file in the status bar, it is ${await status.innerText()}`,
    )
  })
})

test('code is sent to another machine when somebody has consented, and is listed', async () => {
  const far = { provider: 'openai', model: 'far-1', base_url: 'https://192.0.2.1/v1', key_env: 'FAR_KEY' }
  const settings = {
    'winnow.llm.preferred': ['far'],
    'winnow.llm.models': { far },
    'winnow.llm.connect_seconds': 1,
  }
  await withEditor({ folder: project(), settings, env: { FAR_KEY: 'key-of-the-test' } }, async (editor) => {
    const asks = editor.rows.filter({ hasText: 'Let a language model rank' })
    const search = async () => {
      await editor.question('where is hello printed')
      await editor.page.keyboard.press('Enter')
    }
    await search()
    await editor.titled(/ranked locally: a model needs consent/)
    await asks.click()
    await editor.titled(/may matching lines be sent to https:\/\/192\.0\.2\.1 \(not decided\)/)
    await editor.rows.filter({ hasText: 'Not for this workspace' }).click()
    // The list is there again, and the next one does not ask.
    await editor.titled(/where is hello printed/)
    await editor.page.keyboard.press('Escape')
    await search()
    await editor.titled(/ranked locally: (?!a model needs consent)/)
    assert.equal(await asks.count(), 0)
    await editor.page.keyboard.press('Escape')

    await editor.command('Winnow: Consent to a Language Model…')
    await editor.titled(/192\.0\.2\.1 \(not for this workspace\)/)
    await editor.rows.filter({ hasText: 'Allow for this workspace' }).click()
    await search()
    await editor.titled(/ranked locally: .*(far|connect|time)/)
    await editor.page.keyboard.press('Escape')
    await editor.command('Winnow: Show What Left This Machine')
    await editor.page.locator('.view-lines', { hasText: 'far at https://192.0.2.1' }).waitFor()
  })
})
