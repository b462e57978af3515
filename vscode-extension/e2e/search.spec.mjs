// Searches in every mode, in one editor with a real repository, ranked by a fake language model.
import assert from 'node:assert/strict'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { after, before, test as check } from 'node:test'

import { modelSettings, startEditor, startModel, temporary, until, workspace } from './harness.mjs'

const QUESTION = 'how are migrations applied in order'
const FIRST_RESULT_MS = 300
const ACTIVATION_MS = 50
// Timings are meaningless on a busy machine.
const MEASURED = process.env.WINNOW_MEASURE === '1'

let model
let editor
let page
let folder

before(async () => {
  model = await startModel()
  folder = workspace()
  editor = await startEditor({ folder, settings: modelSettings(model.address) })
  page = editor.page
})

after(async () => {
  await editor?.close()
  model?.stop()
})

/** Define a test that saves a screenshot on failure. */
const test = (name, run) =>
  check(name, async () => {
    try {
      await run()
    } catch (error) {
      await editor.screenshot(`failed: ${name.replaceAll('/', ' ')}`)
      throw error
    }
  })

/** Return the first line of a file that contains a text, from 1. */
function lineOf(file, text) {
  const lines = readFileSync(path.join(folder, file), 'utf-8').split('\n')
  return lines.findIndex((line) => line.includes(text)) + 1
}

async function at(position) {
  const text = () => editor.position.innerText()
  await until(async () => (await text()) === position, async () => `${position}; it is ${await text()}`)
}

/** Wait until the editor previews the active row. Return its file name and line. */
async function previewed() {
  const [name, line] = await editor.activePlace()
  await page.locator('.tab.active', { hasText: name }).waitFor()
  await until(
    async () => (await editor.position.innerText()).startsWith(`Ln ${line}, `),
    async () => `line ${line} of ${name}; it is ${await editor.position.innerText()}`,
  )
  return { name, line: Number(line) }
}

async function closePick() {
  await page.keyboard.press('Escape')
  await page.locator('.quick-input-widget').first().waitFor({ state: 'hidden' })
}

test('nothing runs before the first command', async () => {
  // The probe activates after all extensions that activate on startup.
  assert.deepEqual(await editor.probe('activation'), { active: false })
  assert.deepEqual(editor.processes(/winnow serve/), [])
  assert.equal(editor.log(), '')
})

test("a keyword search shows the local order, then the model's choices with reasons", async () => {
  await editor.question(QUESTION)
  await page.keyboard.press('Enter')
  await editor.titled(/ranked by wire · 2 of [\d,]+ files · .*\$0\.00125/)
  const [first, second, third] = await editor.rowTexts()
  assert.match(first, /\.py:\d+ ?django.* runs the migrations in order — \S/)
  assert.match(second, / writes down which were applied — \S/)
  assert.match(third, /also found, not chosen by the model$/)
  const visible = (await editor.visibleRows()).map(({ text }) => text)
  assert.match(visible[0], /^\S+\.py:\d+django.*\nruns the migrations in order — \S/)
  assert.match(visible[1], /\nwrites down which were applied — \S/)
  assert.ok(visible.length >= 5, visible.join('\n'))
  await editor.sees(editor.title, /how are migrations applied in order.*ranked by wire.*\$0\.00125/)
  const activated = Number(/Activated in ([\d.]+) ms/.exec(editor.log())?.[1])
  assert.ok(Number.isFinite(activated))
  if (MEASURED) assert.ok(activated <= ACTIVATION_MS, `activation took ${activated} ms`)
  console.log(`activation: ${activated} ms in the extension`)
})

test('Escape closes the preview if nothing was open', async () => {
  await page.keyboard.press('ArrowDown')
  await page.locator('.tab.active').waitFor()
  await closePick()
  await until(async () => (await editor.tabs()).length === 0, async () => `no tab; open are ${await editor.tabs()}`)
})

test('moving previews the file at the line, and Escape restores the open editors', async () => {
  await editor.openFile('django/apps/registry.py')
  await editor.openFile('django/apps/config.py:20:5')
  await at('Ln 20, Col 5')
  const before = await editor.tabs()
  assert.deepEqual(before, ['registry', 'config'])

  await editor.resume()
  await page.keyboard.press('ArrowDown')
  const { name, line } = await previewed()
  await editor.screenshot('keyword-search')
  // The row is readable, and so is the line if it is below the list.
  const row = await editor.visible(editor.active)
  assert.ok(row.isComplete && row.text.startsWith(`${name}.`), row.text)
  const pick = await editor.quickPick()
  const shown = await editor.renderedLine(line)
  assert.ok(shown.box.y > 0 && shown.box.y + shown.box.height < 668, 'above the status bar')
  // Issue 26: the list covers lines higher up, and the name of the file.
  assert.equal(shown.startsVisible, shown.box.y + shown.box.height / 2 > pick.y + pick.height, JSON.stringify(shown))
  assert.equal((await editor.visible(page.locator('.tab.active'))).text, '')

  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await previewed()
  await closePick()
  await at('Ln 20, Col 5')
  await until(async () => (await editor.tabs()).join() === before.join(), async () =>
    `the tabs ${before}; they are ${await editor.tabs()}`,
  )
})

test('Escape restores a preview tab, whether it was active or not', async () => {
  await editor.probe('preview', { file: path.join(folder, 'django/db/migrations/optimizer.py') })
  await page.locator('.tab.active', { hasText: 'optimizer' }).waitFor()
  for (const activate of [async () => {}, () => page.locator('.tab', { hasText: 'registry' }).click()]) {
    await activate()
    const before = await editor.tabs()
    const active = await page.locator('.tab.active .label-name').innerText()
    assert.ok(before.includes('~optimizer'), before.join())
    await editor.resume()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await until(async () => !(await editor.tabs()).includes('~optimizer'), 'a preview that replaces it')
    await closePick()
    await until(
      async () => (await page.locator('.tab.active .label-name').innerText()) === active,
      `${active} active again`,
    )
    await until(
      async () => (await editor.tabs()).toSorted().join() === before.toSorted().join(),
      async () => `the tabs ${before}; they are ${await editor.tabs()}`,
    )
  }
})

test('Enter opens the file at the line', async () => {
  await editor.resume()
  const [name, line] = await editor.activePlace()
  await page.keyboard.press('Enter')
  await page.locator('.tab.active', { hasText: name }).waitFor()
  await until(async () => (await editor.position.innerText()).startsWith(`Ln ${line}, `), `line ${line}`)
  // Nothing covers the file anymore.
  await editor.sees(page.locator('.tab.active'), new RegExp(name))
  await until(async () => (await editor.visibleLine(line))?.startsVisible, `line ${line} to be readable`)
})

/** Move down three times while the model's order arrives. Return the recording and the selected files. */
async function moveDuringRanking(query) {
  await editor.question(query)
  const before = await model.count()
  const recorded = await editor.recording()
  await page.keyboard.press('Enter')
  // By then the local order is complete. The model's first file takes a few seconds.
  await until(async () => (await model.count()) > before, 'the request to the model')
  await editor.rows.filter({ hasText: '.py' }).nth(4).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await editor.rows.filter({ hasText: 'runs the migrations in order' }).waitFor()
  await editor.titled(/ranked by wire/)
  const frames = await recorded()
  // The selection moves some time after the first key: start where it leaves the best row.
  const start = frames.findIndex(({ downs, active, rows }) => downs > 0 && active && active !== rows[0])
  const names = frames.slice(start).filter(({ active }) => active).map(({ active }) => /^\S+/.exec(active)[0])
  return { frames, moved: names.filter((name, index) => name !== names[index - 1]) }
}

test("the model's order does not move the selection, and arrives file by file", async () => {
  await model.mode('drip')
  // Issue 26: new rows undo a move whose event the extension has not received yet. On a busy machine
  // that happens in some searches, so try several.
  // Each attempt has a different question, because the server caches the model's answers.
  const events = ['saved', 'deleted', 'created', 'loaded', 'migrated']
  let attempt
  for (const [index, event] of events.entries()) {
    if (index) await closePick()
    attempt = await moveDuringRanking(`which signals are sent after a model is ${event}`)
    if (attempt.moved.length === 3) break
    console.log(`moved: ${attempt.moved}`)
  }
  await model.mode('ok')
  const { frames, moved } = attempt
  assert.equal(moved.length, 3, `only the user moved the selection: ${moved}`)
  const local = frames.findIndex(({ rows }) => rows.some((row) => row.includes('.py')))
  const chosen = frames.findIndex(({ rows }) => rows.some((row) => row.includes('runs the migrations')))
  assert.ok(local >= 0 && local < chosen, 'local results came first')
  await editor.sees(editor.first, / runs the migrations in order$/)
  // Issue 26: the selected row may be scrolled out of the list, but its preview is still open.
  const selected = await editor.visible(editor.active)
  if (selected?.startsVisible) assert.ok(selected.text.trim().startsWith(moved.at(-1)), selected.text)
  const [stem] = /^[\w-]+/.exec(moved.at(-1))
  await page.locator('.tab.active', { hasText: stem }).waitFor()
  await closePick()
})

test('the first result appears soon after the key press', async () => {
  const times = []
  const queries = !MEASURED ? ['how is a template compiled'] : [
    'how is a template compiled',
    'who escapes html',
    'where is a session deleted',
    'how are forms validated',
    'when is a connection closed',
  ]
  for (const query of queries) {
    await editor.question(query)
    const recorded = await editor.recording()
    await page.keyboard.press('Enter')
    await editor.titled(/ranked by/)
    const frames = await recorded()
    const first = frames.find(({ title, rows }) => title.includes(query) && rows.length > 0)
    times.push(Math.round(first.at))
    await closePick()
  }
  console.log(`key press to first result on Django: ${times.join(', ')} ms`)
  // Some searches take longer: on a busy machine, or if all words are in hundreds of files, which the
  // server shrinks before it ranks. A delay in the client would slow down every search.
  const second = times.toSorted((left, right) => left - right)[1]
  if (MEASURED) assert.ok(second <= FIRST_RESULT_MS, `${times} ms`)
})

test('Escape cancels a search and kills its ripgrep', async () => {
  // The real ripgrep, slowed down by a preprocessor for every file.
  const tools = temporary('slow')
  const slow = path.join(tools, 'slow')
  const rg = path.join(tools, 'rg')
  const real = which('rg')
  // The preprocessor does not exit on its own.
  writeFileSync(slow, '#!/bin/sh\nexec sleep 600\n')
  writeFileSync(rg, `#!/bin/sh\nexec ${real} --pre ${slow} "$@"\n`)
  for (const file of [slow, rg]) chmodSync(file, 0o755)
  const settings = { 'winnow.programs.rg': rg, 'winnow.index.enabled': false }
  await editor.probe('configure', { settings })
  await editor.question('which middleware handles csrf tokens')
  await page.keyboard.press('Enter')
  const running = () => editor.processes(new RegExp(`--pre ${slow}|sleep 600`))
  await until(() => running().length > 1, 'ripgrep to run')
  await page.keyboard.press('Escape')
  await until(() => running().length === 0, 'ripgrep and its children to exit')
  await editor.probe('configure', { settings: { 'winnow.programs.rg': null, 'winnow.index.enabled': null } })
})

function which(name) {
  for (const directory of process.env.PATH.split(':')) {
    const file = path.join(directory, name)
    try {
      if (readFileSync(file).length) return file
    } catch {
      // Not in this folder.
    }
  }
  throw new Error(`no ${name} on PATH`)
}

test('a hit in a PDF shows its page and opens the extracted text at the line', async () => {
  await editor.search('Search Documents', 'Retention')
  await page.keyboard.press('Enter')
  const row = editor.rows.filter({ hasText: 'page 2' })
  await row.waitFor()
  await editor.titled(/2 lines · [\d,]+ documents searched/)
  await page.keyboard.press('ArrowDown')
  await page.locator('.tab.active', { hasText: 'handbook.pdf' }).waitFor()
  await at('Ln 9, Col 1')
  await editor.screenshot('documents')
  await editor.sees(editor.active, /^Retention: releases are kept[^]*handbook\.pdf · page 2/)
  await editor.seesLine(9, /^Retention: releases are kept/)
  // Issue 26: the list covers the other line.
  await page.keyboard.press('ArrowUp')
  await at('Ln 5, Col 1')
  assert.equal((await editor.renderedLine(5)).text, '')
  await page.keyboard.press('ArrowDown')
  await at('Ln 9, Col 1')
  await page.keyboard.press('Enter')
  await at('Ln 9, Col 1')
  const text = await page.locator('.editor-instance .view-lines').first().innerText()
  assert.match(text.replaceAll('\u00a0', ' '), /Page 2[\s\S]*Retention: releases are kept/)
  await editor.seesLine(9, /^Retention: releases are kept/)
})

test('symbols are found as the user types, best first', async () => {
  await editor.search('Search Symbols', 'MigrationExecutor')
  await editor.sees(editor.first, /^MigrationExecutordjango\/db\/migrations\/executor\.py/)
  await editor.screenshot('symbols')
  await page.keyboard.press('Enter')
  await page.locator('.tab.active', { hasText: 'executor' }).waitFor()
  const line = lineOf('django/db/migrations/executor.py', 'class MigrationExecutor')
  await at(`Ln ${line}, Col 7`)
  await editor.seesLine(line, /^class MigrationExecutor:$/)
})

test("text is found as the user types, in the answer's order, and opens at the match", async () => {
  await editor.search('Search Text', 'def execute_from_command_line')
  // Results of the first characters appear too.
  const found = async () => (await editor.rowTexts()).map((row) => row.startsWith('def execute_from_command_line'))
  await until(async () => (await found()).join() === 'true', 'only the correct match')
  await page.keyboard.press('Enter')
  await page.locator('.tab.active', { hasText: '__init__' }).waitFor()
  const line = lineOf('django/core/management/__init__.py', 'def execute_from_command_line')
  await at(`Ln ${line}, Col 1`)
  await editor.seesLine(line, /^def execute_from_command_line\(/)
  await editor.search('Search Text', '/class \\w+Executor\\b/')
  // Results of the first characters appear too.
  const matches = (row) => /class \w+Executor/.test(row)
  const rows = () => editor.rowTexts()
  await until(
    async () => (await rows()).length > 0 && (await rows()).every(matches),
    async () => `matches only; the rows are ${(await rows()).join('\n')}`,
  )
  await editor.titled(/\d+ match(es)?/)
  await closePick()
})

test('semantic and code search show the kind of search they ran', async () => {
  await editor.search('Code Search', 'MigrationRecorder')
  await page.keyboard.press('Enter')
  await editor.titled(/as symbol · \d+ results?/)
  assert.match((await editor.rowTexts())[0], /^recorder\.py:\d+/)
  await closePick()
  await editor.search('Semantic Search', 'where are expired sessions deleted')
  await page.keyboard.press('Enter')
  await editor.titled(/(by the index|by text).* passages?/)
  assert.ok((await editor.rowTexts()).some((row) => /session/.test(row)))
  await closePick()
})

test('a search without results and a failed search show the reason', async () => {
  await editor.search('Search Text', 'nowhere-in-this-tree-3141')
  await editor.sees(editor.rows.filter({ hasText: 'No results' }), /No results/)
  await closePick()
  await editor.search('Search Text', '/(unclosed/')
  await editor.titled(/failed/)
  // Issue 26: the end of the message is cut off.
  await editor.sees(editor.first, /Invalid regular expression '\(unclosed': unclosed group[^]*Press Enter to try again$/)
  await closePick()
})

test('results stay in a view, from which they can be opened, copied and exported', async () => {
  await editor.search('Semantic Search', 'where are expired sessions deleted')
  await page.keyboard.press('Enter')
  await editor.titled(/(by the index|by text).* passages?/)
  const places = (await editor.rowTexts()).map((row) => /^(\S+?)\.\w+:(\d+)/.exec(row)).filter(Boolean)
  await closePick()
  // Wait until the editor shows a result, from 0, and its line is readable.
  const showsResult = async (index) => {
    const [, name, line] = places[index]
    await page.locator('.tab.active', { hasText: name }).waitFor()
    const position = () => editor.position.innerText()
    await until(
      async () => (await position()).startsWith(`Ln ${line}, `),
      async () => `line ${line} of ${name}; it is ${await position()}`,
    )
    await until(async () => (await editor.visibleLine(Number(line)))?.startsVisible, `line ${line} to be readable`)
  }
  await editor.command('Winnow: Next Result')
  await showsResult(0)
  await page.keyboard.press('Control+Alt+.')
  await showsResult(1)
  await editor.command('Winnow: Previous Result')
  await showsResult(0)
  await editor.command('Winnow: Copy All Paths and Lines')
  await until(
    async () => /^django\/\S+\.py:\d+$/m.test(await page.evaluate(() => navigator.clipboard.readText())),
    'paths in the clipboard',
  )
  await page.locator('.activitybar .action-label[aria-label^="Winnow"]').click()
  const tree = page.locator('.pane-body .monaco-list-row')
  const search = tree.filter({ hasText: 'Semantic Search: where are expired sessions deleted' })
  // Issue 26: the end of the title is cut off.
  await editor.sees(search, /^Semantic Search: where are/)
  await editor.screenshot('results')
  await editor.command('Winnow: Export as Markdown')
  // Wait for the exported document: if it opened later, it would close the next list.
  await editor.seesLine(1, /^# Semantic Search: where are expired sessions deleted$/)
})

test('the history and the list of all modes', async () => {
  await editor.command('Winnow: Search History')
  await editor.sees(editor.rows.filter({ hasText: QUESTION }), new RegExp(`^${QUESTION}`))
  await closePick()
  await editor.command('Winnow: Search…')
  await until(async () => (await editor.rows.count()) === 6, 'six modes')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await editor.titled(/^Winnow Code Search/)
  await closePick()
})

test('the walkthrough leads to a search', async () => {
  await editor.command('Welcome: Open Walkthrough...')
  await editor.rows.filter({ hasText: 'Search with Winnow' }).click()
  const steps = page.locator('.gettingStartedSlideDetails')
  for (const step of ['Install the server', 'Ask a question', 'Let a model rank (optional)']) {
    const { isComplete } = await editor.sees(steps.getByText(step, { exact: true }), /\w/)
    assert.ok(isComplete, step)
  }
  await steps.getByText('Ask a question', { exact: true }).click()
  await editor.screenshot('walkthrough')
  await steps.getByRole('button', { name: 'Keyword Search' }).click()
  await editor.titled(/^Winnow Keyword Search/)
  await closePick()
})
