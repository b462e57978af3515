// Installing the server, restricted mode, and consent.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'

import { CHECKOUT, program, project, PYTHON, SERVER, temporary, until, withEditor } from './harness.mjs'

const NO_WINNOW = '/usr/bin:/bin'
/** The installation downloads packages: numpy and the grammars are about 50 MB. */
const INSTALL_TIMEOUT = 300_000

const serverCommand = SERVER.map((word) => `'${word}'`).join(' ')

test('without a server, the extension offers to install it into its own environment', {
  timeout: 2 * INSTALL_TIMEOUT,
}, async () => {
  const python = program(temporary('python'), 'python3', `exec '${PYTHON}' "$@"`)
  const folder = project()
  // `python -m venv` in this folder would run it.
  const ran = path.join(folder, 'ran')
  writeFileSync(path.join(folder, 'venv.py'), `open(${JSON.stringify(ran)}, "w").close()\n`)
  await withEditor({
    folder,
    settings: { 'winnow.server.command': [], 'winnow.server.package': 'winnow-ls-of-nobody' },
    env: { PATH: `${python}:${NO_WINNOW}`, PYTHONPATH: '' },
  }, async (editor) => {
    // The box stays open, so that no key goes to the file.
    const install = async (query) => {
      await editor.sees(editor.first, /Install the server/)
      assert.match(await editor.first.innerText(), /neither on PATH nor in the selected Python environment/)
      assert.match((await editor.rowTexts()).join('\n'), /Choose another server/)
      assert.deepEqual(editor.processes(/winnow serve/), [])
      assert.equal(await editor.input.inputValue(), query)
      await editor.page.keyboard.press('Enter')
      await editor.sees(editor.first, /Installing the server/)
    }
    const storage = path.join(editor.data, 'User/globalStorage/winnow-ls.winnow')
    const environments = () => readdirSync(storage).filter((name) => name.startsWith('venv-'))
    const failed = editor.notification('could not install the server')
    const fails = async () => {
      await failed.waitFor({ timeout: INSTALL_TIMEOUT })
      await editor.sees(failed, /could not install the server/)
      assert.match(await failed.innerText(), /No matching distribution found for winnow-ls-of-nobody/)
      await failed.locator('.monaco-button', { hasText: 'Choose a Wheel…' }).waitFor()
      await failed.locator('.monaco-button', { hasText: 'Show Log' }).click()
      assert.match(editor.log(), /pip install .*winnow-ls-of-nobody/)
    }
    await editor.search('Search Text', 'main')
    await install('"main')
    // A failed installation shows an error and leaves no files.
    await fails()
    assert.deepEqual(environments(), [])

    await editor.probe('configure', { settings: { 'winnow.server.package': CHECKOUT } })
    await editor.search('Search Text', 'def main')
    await install('"def main')
    const done = editor.notification(/Winnow \d+\.\d+\.\S+ is installed and running/)
    await done.waitFor({ timeout: INSTALL_TIMEOUT })
    const [installed] = environments()
    const server = new RegExp(`${storage}/${installed}/bin/.*winnow serve`)
    assert.equal(editor.processes(server).length, 1)
    // The search that waited for the server.
    await editor.sees(editor.first, /def main/)
    await editor.page.keyboard.press('Escape')
    assert.ok(!existsSync(ran))

    // With a server, the command asks first. A failed update leaves the server as it was.
    await editor.probe('configure', { settings: { 'winnow.server.package': 'winnow-ls-of-nobody' } })
    await editor.command('Winnow: Install Server')
    const question = editor.notification('is already there')
    await editor.sees(question, /Winnow \d+\.\d+\.\S+ is already there/)
    await question.locator('.monaco-button', { hasText: 'Install Anyway' }).click()
    await fails()
    assert.deepEqual(environments(), [installed])
    assert.equal(editor.processes(server).length, 1)
    await editor.command('Winnow: Restart Server')
    await editor.search('Search Text', 'def main')
    await editor.sees(editor.first, /def main/)
    assert.equal(editor.processes(server).length, 1)
  })
})

test('without Python, the extension links to it', async () => {
  await withEditor({
    folder: project(),
    settings: { 'winnow.server.command': [] },
    env: { PATH: program(temporary('bin'), 'nothing', '') },
  }, async (editor) => {
    await editor.command('Winnow: Install Server')
    const failed = editor.notification('could not install the server')
    await editor.sees(failed, /it needs Python 3\.10 or newer, and none was found/)
    for (const label of ['Get Python', 'Extension Page', 'Show Log']) {
      await failed.locator('.monaco-button', { hasText: label }).waitFor()
    }
  })
})

test('restricted mode runs no program from the workspace', async () => {
  const folder = project()
  const ran = path.join(folder, 'ran')
  const untrusted = program(path.join(folder, 'bin'), 'winnow', `touch '${ran}'; exec ${serverCommand} "$@"`)
  const settings = { 'winnow.server.command': [], 'security.workspace.trust.startupPrompt': 'never' }
  const trusted = program(temporary('bin'), 'winnow', `exec ${serverCommand} "$@"`)
  await withEditor({
    folder,
    settings,
    env: { PATH: `${untrusted}:bin:${trusted}:${process.env.PATH}` },
    trusted: false,
  }, async (editor) => {
    await editor.search('Search Text', 'def main')
    await editor.sees(editor.first, /def main/)
    assert.match(editor.log(), new RegExp(`Starting Winnow \\S+ ?: ${trusted}`))
    assert.ok(!existsSync(ran))
  })
})

test('code is sent to a remote model only with consent, and the audit lists it', async () => {
  const far = { provider: 'openai', model: 'far-1', base_url: 'https://192.0.2.1/v1', key_env: 'FAR_KEY' }
  const settings = {
    'winnow.llm.preferred': ['far'],
    'winnow.llm.models': { far },
    'winnow.llm.connect_seconds': 1,
  }
  await withEditor({ folder: project(), settings, env: { FAR_KEY: 'key-of-the-test' } }, async (editor) => {
    const button = editor.page.locator('.quick-input-widget:visible [aria-label^="Let a Language Model Rank"]')
    const question = 'where is hello printed'
    await editor.question(question)
    await button.click()
    await editor.sees(editor.title, /send matching lines to https:\/\/192\.0\.2\.1 \(not decided\)/)
    for (const choice of ['Allow for this workspace', 'Allow for every workspace', 'Not for this workspace']) {
      await editor.sees(editor.rows.filter({ hasText: choice }), new RegExp(`^${choice}$`))
    }
    await editor.rows.filter({ hasText: 'Not for this workspace' }).click()
    // The list is back, and the button is gone.
    await editor.titled(/^where is hello printed · local$/)
    await until(async () => (await button.count()) === 0, 'no button to consent')
    await editor.page.keyboard.press('Escape')

    const decide = async (before, choice) => {
      await editor.menu('Consent to a language model')
      await editor.titled(before)
      await editor.rows.filter({ hasText: choice }).click()
    }
    await decide(/192\.0\.2\.1 \(refused for this workspace\)/, 'Withdraw the decision')
    await editor.question(question)
    await button.click()
    await editor.rows.filter({ hasText: 'Allow for every workspace' }).click()
    await editor.titled(/ · local · Enter asks far$/)
    await editor.page.keyboard.press('Escape')
    await editor.probe('configure', { settings: { 'winnow.llm.consent': 'ask' } })

    await decide(/192\.0\.2\.1 \(not decided\)/, 'Allow for this workspace')
    await editor.question(question)
    // A model is available now, so Enter asks it. It can't be reached.
    await editor.titled(/ · local · Enter asks far$/)
    await editor.page.keyboard.press('Enter')
    await editor.titled(/ · local$/)
    await editor.page.keyboard.press('Escape')
    await editor.menu('Show what left this machine')
    await editor.sees(editor.page.locator('.view-lines'), /far at https:\/\/192\.0\.2\.1/)
  })
})
