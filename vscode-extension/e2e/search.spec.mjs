// The search box, in one editor with a real repository and a fake language model.
import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { after, before, test as check } from 'node:test'

import { EXTENSION, MEASURED, modelSettings, placeOf, startEditor, startModel, temporary, until, workspace } from './harness.mjs'

const QUESTION = 'how are migrations applied in order'
const SIZES = [[1280, 720], [1440, 900], [2560, 1440]]
const ACTIVATION_MS = 50

let model
let editor
let page
let folder

const SHOP = 'src/main/java/org/example/shop'

before(async () => {
  model = await startModel()
  folder = workspace()
  mkdirSync(path.join(folder, SHOP), { recursive: true })
  writeFileSync(path.join(folder, SHOP, 'Shop.java'), `package org.example.shop;

public class Shop {
    public static void main(String[] args) {
        System.out.println(new Cart().total());
    }
}
`)
  writeFileSync(path.join(folder, SHOP, 'Cart.java'), `package org.example.shop;

import java.util.Optional;

public class Cart {
    private Optional<Integer> discount = Optional.empty();

    int total() {
        return 100 - discount.orElseThrow();
    }
}
`)
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
      // The next test starts without a box.
      await page.keyboard.press('Escape')
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

/** Wait until the line of the active row is readable below the list. Return its file name and line. */
async function previewed() {
  const [name, line] = await editor.activePlace()
  await page.locator('.editor-group-container:not(.active) .tab.active', { hasText: name }).waitFor()
  await editor.previews(line)
  return { name, line }
}

function addImage() {
  const image = path.join(folder, 'docs/_theme/picture.png')
  mkdirSync(path.dirname(image), { recursive: true })
  copyFileSync(path.join(EXTENSION, 'media/icon.png'), image)
  return image
}

async function closePick() {
  await page.keyboard.press('Escape')
  await page.locator('.quick-input-widget').first().waitFor({ state: 'hidden' })
}

/** Wait until these tabs are open, the active one is the same, and there is one group. */
async function restored({ tabs, active }) {
  await until(
    async () => JSON.stringify(await shown()) === JSON.stringify({ tabs, active, groups: 1 }),
    async () => `${tabs} with ${active}; open are ${JSON.stringify(await shown())}`,
  )
}

/** Return what is open in the editor. */
async function shown() {
  const active = page.locator('.editor-group-container.active .tab.active .label-name')
  return {
    tabs: await editor.tabs(),
    active: (await active.count()) ? await active.innerText() : '',
    groups: await page.locator('.editor-group-container').count(),
  }
}

test('nothing runs before the first command', async () => {
  // The probe activates after all extensions that activate on startup.
  assert.deepEqual(await editor.probe('activation'), { active: false })
  assert.deepEqual(editor.processes(/winnow serve/), [])
  assert.equal(editor.log(), '')
})

test('results appear as the user types, with the line of code and a reason', async () => {
  await editor.openBox('Control+Alt+W')
  await page.keyboard.type('MigrationExecutor')
  await editor.titled(/^MigrationExecutor · local/)
  const { text, isComplete } = await editor.sees(editor.first, /^MigrationExecutor ?django\/db\/migrations\/executor\.py:10 class MigrationExecutor/)
  assert.ok(isComplete, text)
  // The letters that match are highlighted.
  const marked = await editor.first.locator('.label-name .highlight, .monaco-highlighted-label .highlight').first().innerText()
  assert.equal(marked, 'MigrationExecutor')
  await previewed()
  await closePick()
  const activated = Number(/Activated in ([\d.]+) ms/.exec(editor.log())?.[1])
  assert.ok(Number.isFinite(activated))
  if (MEASURED) assert.ok(activated <= ACTIVATION_MS, `activation took ${activated} ms`)
})

test('the box opens with nothing typed, and asks for more than one letter', async () => {
  await editor.openBox('Control+Alt+W')
  for (const hint of ['symbols: @Client.send', 'PDFs, office files']) await editor.sees(editor.rows.filter({ hasText: hint }), /\w/)
  // A prefix is completed, too.
  await page.keyboard.type('>t')
  await editor.sees(editor.first, /^>type: ?files of a type/)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await until(async () => (await editor.input.inputValue()) === '>terms ', 'the prefix in the box')
  await editor.input.fill('M')
  for (const short of ['M', '@', '>docs ', '>changed']) {
    await editor.input.fill(short)
    await editor.sees(editor.first, /^Type at least 2 letters$/)
  }
  await page.keyboard.press('Escape')
  await editor.resume()
  await editor.sees(editor.first, /^Type at least 2 letters$/)
  await closePick()
})

test('the index becomes ready', async () => {
  const status = page.locator('.statusbar-item[id="winnow-ls.winnow.winnow.status"]')
  // On a slow machine, the message has moved to the notification center, which has all.
  await editor.command('Notifications: Show Notifications')
  await editor.sees(editor.notification('Winnow is indexing this folder'), /stays on this machine/)
  await editor.notification('Winnow is indexing this folder').locator('.monaco-button', { hasText: 'OK' }).click()
  await editor.sees(status, /^Winnow: (indexing \d+ %|ready)$/)
  // No other item of the status bar says so.
  assert.ok((await page.locator('.statusbar-item', { hasText: /index/i }).count()) <= 1)
  // An early answer is replaced while the box is open.
  await editor.question(QUESTION)
  await editor.indexed()
  await editor.titled(/ · local · Enter asks wire$/)
  await closePick()
  // The Explorer doesn't show the index.
  assert.equal(await page.locator('.explorer-folders-view .label-name', { hasText: '.winnow' }).count(), 0)
})

test('Escape closes the preview if nothing was open', async () => {
  await editor.question(QUESTION)
  await page.keyboard.press('ArrowDown')
  await previewed()
  await closePick()
  await restored({ tabs: [], active: '' })
})

test('an empty box has no preview of an earlier query', async () => {
  await editor.question(QUESTION)
  await page.keyboard.press('ArrowDown')
  await previewed()
  await editor.input.fill('')
  await until(async () => (await page.locator('.editor-group-container').count()) === 1, 'the preview to close')
  await closePick()
})

test('without a selected row, Enter asks the model, whose choices come first', async () => {
  await editor.question(QUESTION)
  await editor.titled(/^how are migrations applied in order · local · Enter asks wire$/)
  assert.equal(await editor.active.count(), 0)
  await page.keyboard.press('Enter')
  await editor.answered('wire')
  await editor.sees(editor.title, /^how are migrations applied in order · wire$/)
  const [first, second, third] = await editor.rowTexts()
  assert.match(first, /\.py:\d+ ?django.* — runs the migrations in order$/)
  assert.match(second, / — writes down which were applied$/)
  assert.match(third, /also found$/)
  const visible = (await editor.visibleRows()).map(({ text }) => text)
  assert.match(visible[1], /^\s*\S+\.py:\d+django.*\n.* —  writes down which were/)
  assert.ok(visible.length >= 5, visible.join('\n'))
  // Its first choice is selected now.
  const [name, line] = await editor.activePlace()
  await page.keyboard.press('Enter')
  await page.locator('.tab.active', { hasText: name }).waitFor()
  await editor.seesLine(line, /\w/)
  await editor.command('View: Close All Editors')
})

test('Escape restores the editors, the selection and the Explorer', async () => {
  await editor.openFile('django/apps/registry.py')
  await editor.openFile('django/apps/config.py:20:5')
  await at('Ln 20, Col 5')
  const before = await shown()
  assert.deepEqual(before.tabs, ['registry', 'config'])
  const folders = page.locator('.explorer-folders-view .monaco-list-row')
  const unfolded = await folders.allInnerTexts()
  await editor.resume()
  for (let row = 0; row < 3; row++) {
    await page.keyboard.press('ArrowDown')
    await previewed()
  }
  await closePick()
  await restored(before)
  await at('Ln 20, Col 5')
  assert.deepEqual(await folders.allInnerTexts(), unfolded)
})

test('Escape closes the preview of an unsaved file, and nothing asks to save it', async () => {
  await editor.openFile('django/apps/config.py:20:5')
  await at('Ln 20, Col 5')
  await page.keyboard.type('unsaved_name')
  await page.locator('.tab.dirty', { hasText: 'config' }).waitFor()
  const before = await shown()
  await editor.search('Search Text', 'unsaved_name')
  await previewed()
  await closePick()
  await restored(before)
  await page.keyboard.press('Control+Z')
  await editor.command('File: Revert File')
  await editor.command('View: Close All Editors')
})

test('Escape restores a preview tab, a welcome page and an image', async () => {
  await editor.probe('preview', { file: path.join(folder, 'django/db/migrations/optimizer.py') })
  await page.locator('.tab.active', { hasText: 'optimizer' }).waitFor()
  const image = addImage()
  const opened = [
    async () => {},
    () => editor.command('Help: Welcome'),
    () => editor.probe('open', { file: image }),
  ]
  for (const open of opened) {
    await open()
    await page.waitForTimeout(500)
    const before = await shown()
    await editor.question(`${QUESTION} again`)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await previewed()
    await closePick()
    await restored(before)
  }
  await editor.command('View: Close All Editors')
})

test('the line is readable below the list in every preview', async () => {
  // More by hand: 40 at each size in each theme.
  const rows = MEASURED ? 40 : 7
  let checked = 0
  for (const theme of ['Light 2026', 'Dark 2026']) {
    await editor.probe('configure', { settings: { 'workbench.colorTheme': theme } })
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height })
      await editor.question('where is the CSRF token checked')
      for (let row = 0; row < rows; row++) {
        await page.keyboard.press('ArrowDown')
        await previewed()
        checked++
      }
      // The title is one line.
      assert.ok((await editor.title.boundingBox()).height < 30)
      await editor.screenshot(`preview ${theme} ${width}x${height}`)
      await closePick()
    }
  }
  await editor.probe('configure', { settings: { 'workbench.colorTheme': null } })
  await page.setViewportSize({ width: 1100, height: 700 })
  assert.equal(checked, 6 * rows)
  console.log(`The line is readable in ${checked} of ${checked} previews`)
})

test('a row that the user moved to stays at its pixel when the model answers', async () => {
  await model.mode('drip')
  const count = MEASURED ? 20 : 4
  for (let index = 0; index < count; index++) {
    // Each question is different, because the server caches the model's answers.
    await editor.question(`which signals are sent after number ${index} is saved`)
    await editor.titled(/ · Enter asks wire$/)
    await page.keyboard.press('Enter')
    await editor.titled(/ · asking wire…$/)
    for (let row = 0; row <= index % 12; row++) await page.keyboard.press('ArrowDown')
    const before = await editor.sees(editor.active, /\w/)
    await editor.answered('wire$')
    const after = await editor.sees(editor.active, /\w/)
    assert.equal(after.box.y, before.box.y, `${index}: ${before.text}`)
    assert.deepEqual(placeOf(after.text), placeOf(before.text))
    await previewed()
    await closePick()
  }
  await model.mode('ok')
})

test('resuming shows the same list at the same row, which Enter opens', async () => {
  await editor.question(`${QUESTION} once more`)
  for (let row = 0; row < 5; row++) await page.keyboard.press('ArrowDown')
  const { text } = await editor.sees(editor.active, /\w/)
  await closePick()
  await editor.resume()
  // An event of the quick pick about its first row may arrive late.
  await page.waitForTimeout(500)
  assert.equal((await editor.sees(editor.active, /\w/)).text, text)
  const [name, line] = await editor.activePlace()
  await page.keyboard.press('Enter')
  await page.locator('.tab.active', { hasText: name }).waitFor()
  await editor.seesLine(line, /\w/)
})

test('the query stays when the search is narrowed', async () => {
  const narrow = async (label) => {
    await page.locator('.quick-input-widget:visible [aria-label^="Narrow the Search"]').click()
    await editor.rows.filter({ hasText: label }).first().click()
  }
  const value = (text) => until(async () => (await editor.input.inputValue()) === text, async () =>
    `the query ${text}; it is ${await editor.input.inputValue()}`,
  )
  await editor.question('execute')
  await narrow('Symbols')
  await value('@execute')
  await editor.answered()
  await editor.sees(editor.first, /^\w*\.?execute/)
  await narrow('Exact text')
  await value('"execute"')
  await editor.answered()
  await narrow('Ignored and hidden')
  await value('>ignored "execute"')
  await closePick()
  await editor.search('Search', '>type:html >in:django/contrib/admin form')
  await editor.answered()
  for (const row of await editor.rowTexts()) assert.match(row, /\.html(:\d+)? ?django\/contrib\/admin/)
  await closePick()
})

test('terms are suggested and can be changed', async () => {
  await editor.question('how are sessions deleted')
  await page.locator('.quick-input-widget:visible [aria-label^="Search by Terms"]').click()
  await until(async () => /^>terms how are sessions deleted -- \w+/.test(await editor.input.inputValue()), 'suggested terms')
  await editor.answered()
  await editor.input.fill('>terms how are sessions deleted -- flush, cycle_key')
  await editor.titled(/^how are sessions deleted · local/)
  await until(async () => (await editor.rowTexts()).some((row) => /flush|cycle_key/.test(row)), 'a row with a term')
  await closePick()
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
  await editor.search('Search Text', 'which middleware handles csrf tokens')
  const running = () => editor.processes(new RegExp(`--pre ${slow}|sleep 600`))
  await until(() => running().length > 1, 'ripgrep to run')
  await page.keyboard.press('Escape')
  await until(() => running().length === 0, 'ripgrep and its children to exit')
  // Resuming it begins it again.
  await editor.resume()
  await editor.sees(editor.first, /^Searching…$/)
  await closePick()
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
  await editor.sees(editor.rows.filter({ hasText: 'page 2' }), /^handbook\.pdf · page 2/)
  await page.keyboard.press('ArrowDown')
  await editor.sees(editor.active, /^handbook\.pdf · page 2 ?docs Retention: releases are kept/)
  await editor.previews(9)
  await page.mouse.move(5, 600)
  await page.waitForTimeout(1_500)
  await editor.screenshot('documents')
  await page.keyboard.press('ArrowUp')
  await editor.sees(editor.active, /^handbook\.pdf · page 1/)
  await editor.previews(5)
  await page.keyboard.press('ArrowDown')
  await editor.sees(editor.active, /^handbook\.pdf · page 2/)
  await editor.previews(9)
  await page.keyboard.press('Enter')
  await at('Ln 9, Col 1')
  await editor.seesLine(9, /^Retention: releases are kept/)
})

test('symbols are found as the user types, best first', async () => {
  await editor.search('Search Symbols', 'MigrationExec')
  await editor.sees(editor.first, /^MigrationExecutor ?django\/db\/migrations\/executor\.py:10/)
  await page.keyboard.press('Enter')
  await page.locator('.tab.active', { hasText: 'executor' }).waitFor()
  const line = lineOf('django/db/migrations/executor.py', 'class MigrationExecutor')
  await at(`Ln ${line}, Col 7`)
  await editor.seesLine(line, /^class MigrationExecutor:$/)
})

test("text is found as the user types, in the answer's order, and opens at the match", async () => {
  await editor.search('Search Text', 'def execute_from_command_line')
  await editor.answered()
  assert.equal((await editor.rowTexts()).length, 1)
  await editor.sees(editor.first, /^__init__\.py:\d+ ?django\/core\/management def execute_from_command_line/)
  await page.keyboard.press('Enter')
  await page.locator('.tab.active', { hasText: '__init__' }).waitFor()
  const line = lineOf('django/core/management/__init__.py', 'def execute_from_command_line')
  await at(`Ln ${line}, Col 1`)
  await editor.seesLine(line, /^def execute_from_command_line\(/)
  await editor.search('Search', '/class \\w+Executor\\b/')
  await editor.answered()
  const rows = await editor.rowTexts()
  assert.ok(rows.length > 0 && rows.every((row) => /class \w+Executor/.test(row)), rows.join('\n'))
  await closePick()
})

test('a pasted stack trace leads to its deepest frame in the workspace', async () => {
  const query = 'django/db/models/query.py'
  const line = lineOf(query, 'raise self.model.DoesNotExist(')
  const packages = '/srv/shop/lib/python3.12/site-packages'
  const python = `Traceback (most recent call last):
  File "${packages}/django/core/handlers/exception.py", line 55, in inner
    response = get_response(request)
               ^^^^^^^^^^^^^^^^^^^^^
  File "/srv/shop/carts/views.py", line 12, in cart
    cart = Cart.objects.get(pk=pk)
  File "${packages}/django/db/models/manager.py", line 87, in manager_method
    return getattr(self.get_queryset(), name)(*args, **kwargs)
  File "${packages}/${query}", line ${line}, in get
    raise self.model.DoesNotExist(
carts.models.Cart.DoesNotExist: the shop has another message.`
  const java = `Exception in thread "main" java.util.NoSuchElementException: No value present
\tat java.base/java.util.Optional.orElseThrow(Optional.java:377)
\tat org.example.shop.Cart.total(Cart.java:9)
\tat org.example.shop.Shop.main(Shop.java:5)`
  const traces = [
    [python, new RegExp(`query\\.py:${line}.* raise self\\.model\\..*frame 1 of the stack trace$`)],
    [java, /Cart\.java:9.* return 100 - .*frame 2 of the stack trace$/],
  ]
  for (const [trace, first] of traces) {
    await editor.openBox('Control+Alt+W')
    await page.evaluate((text) => navigator.clipboard.writeText(text), trace)
    await page.keyboard.press('Control+V')
    await editor.answered()
    assert.doesNotMatch(await editor.input.inputValue(), /\n/)
    await editor.sees(editor.first, first)
    await closePick()
  }
})

test('Ctrl+Enter opens the selected row to the side, and a maximized group stays so', async () => {
  await editor.openFile('django/apps/config.py')
  await editor.search('Search Text', 'class MigrationExecutor:')
  await editor.sees(editor.first, /class MigrationExecutor/)
  await page.keyboard.press('Control+Enter')
  await page.locator('.editor-group-container.active .tab.active', { hasText: 'executor' }).waitFor()
  assert.equal(await page.locator('.editor-group-container').count(), 2)
  await editor.command('View: Toggle Maximize Editor Group')
  const groups = (count) => until(
    async () => (await page.locator('.editor-group-container:visible').count()) === count,
    `${count} visible editor groups`,
  )
  await groups(1)
  await editor.question('MigrationExecutor')
  await groups(3)
  await page.keyboard.press('Escape')
  await groups(1)
  await editor.command('View: Close All Editors')
})

test('Enter before the answer opens its first row, and no preview follows', async () => {
  await editor.command('View: Close All Editors')
  // The second time, the document is open, which leaves the most time for a preview.
  for (let time = 0; time < 2; time++) {
    await editor.openBox('Control+Alt+W')
    await page.keyboard.insertText('d')
    await editor.sees(editor.first, /^Type at least 2 letters$/)
    await page.keyboard.insertText('jango/db/migrations/recorder.py')
    await page.keyboard.press('Enter')
    // The editor is busy for longer than the box waits before the first preview.
    await page.evaluate(() => {
      const end = performance.now() + 1_500
      while (performance.now() < end);
    })
    await page.locator('.tab.active', { hasText: 'recorder' }).waitFor()
    await page.waitForTimeout(1_500)
    await restored({ tabs: ['recorder'], active: 'recorder' })
  }
})

test('Enter opens an image', async () => {
  addImage()
  await editor.search('Search', 'docs/_theme/picture.png')
  await editor.answered()
  await page.keyboard.press('Enter')
  await page.locator('.tab.active', { hasText: 'picture' }).waitFor()
  await editor.command('View: Close All Editors')
})

test('a result whose file is gone says so, and no preview stays', async () => {
  const files = ['gone_a.py', 'gone_b.py'].map((name) => path.join(folder, name))
  for (const file of files) writeFileSync(file, 'vanishing_name = 1\n')
  await editor.search('Search Text', 'vanishing_name')
  await editor.sees(editor.rows.nth(1), /vanishing_name/)
  await previewed()
  const before = await editor.activePlace()
  rmSync(files.find((file) => !file.includes(before[0])))
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await editor.sees(editor.notification('could not open'), /could not open gone_\w\.py: The file no longer exists\.$/)
  await restored({ tabs: [], active: '' })
  await editor.command('Notifications: Clear All Notifications')
})

test('a search over the settings has no preview', async () => {
  await editor.command('Preferences: Open Settings (UI)')
  await page.locator('.settings-editor').waitFor()
  const before = await shown()
  await editor.question(QUESTION)
  await page.keyboard.press('ArrowDown')
  await page.waitForTimeout(1_500)
  assert.deepEqual(await shown(), before)
  await closePick()
  await page.keyboard.press('Escape')
  await page.locator('.settings-editor').waitFor({ state: 'hidden' })
})

test('a search without results and a failed search show the reason', async () => {
  await editor.question(QUESTION)
  await page.keyboard.press('ArrowDown')
  await previewed()
  await editor.input.fill('"nowhere-in-this-tree-3141"')
  await editor.sees(editor.rows.filter({ hasText: 'No results' }), /No results/)
  // The preview of the first search is closed.
  await until(async () => (await page.locator('.editor-group-container').count()) === 1, 'one editor group')
  await closePick()
  await editor.search('Search', '/(unclosed/')
  const { isComplete } = await editor.sees(editor.first, /^Invalid regular expression '\(unclosed' ?unclosed group/)
  assert.ok(isComplete)
  await editor.sees(editor.rows.nth(1), /^Try again$/)
  await page.locator('.quick-input-widget:visible [aria-label^="How These Results"]').click()
  // The box of the search, whose first row says the same, is gone.
  await page.locator('.quick-input-widget:visible input[placeholder^="Escape returns"]').waitFor()
  await editor.sees(editor.first, /^Invalid regular expression/)
  await page.keyboard.press('Escape')
  await editor.sees(editor.rows.nth(1), /^Try again$/)
  await closePick()
})

test('the info button says how the results were found', async () => {
  await editor.question('how are passwords hashed')
  await page.locator('.quick-input-widget:visible [aria-label^="How These Results"]').click()
  await editor.sees(editor.rows.filter({ hasText: 'Searched by meaning' }), /It is a question|it is a question/)
  await page.keyboard.press('Escape')
  await editor.titled(/^how are passwords hashed · local/)
  await closePick()
})

test('the results view waits for the results of the typed text', async () => {
  await editor.openBox('Control+Alt+W')
  // Before the search has begun.
  await page.evaluate(() => {
    const widget = document.querySelector('.quick-input-widget')
    const show = () => widget.querySelector('[aria-label^="Show in Results View"]').click()
    widget.querySelector('input.input').addEventListener('input', () => setTimeout(show), { once: true })
  })
  await page.keyboard.insertText('how is a session key created')
  const first = page.locator('.pane-body .monaco-list-row[data-index="0"]')
  await editor.sees(first, /^how is a session key created/)
  await editor.input.waitFor({ state: 'hidden' })
})

test('results stay in a view, grouped by file, which opens previews', async () => {
  await editor.command('View: Close All Editors')
  await editor.question('how are passwords hashed')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  const places = (await editor.rowTexts()).map(placeOf)
  await page.locator('.quick-input-widget:visible [aria-label^="Show in Results View"]').click()
  const tree = page.locator('.pane-body .monaco-list-row')
  const item = (index) => tree.and(page.locator(`[data-index="${index}"]`))
  await editor.sees(tree.filter({ hasText: 'how are passwords hashed' }), /^how are passwords/)
  // The result selected in the box has the focus.
  const focused = page.locator('.pane-body .monaco-list:focus .monaco-list-row.selected')
  await editor.sees(focused, /\w/)
  const fileBefore = Number(await focused.getAttribute('data-index')) - 1
  await editor.sees(item(fileBefore), new RegExp(`^${places[1][0]}\\.py`))
  // Below each file, the line of code.
  await editor.sees(item(1), new RegExp(`^${places[0][0]}\\.py`))
  await editor.sees(item(2), /\w/)
  assert.match((await item(2).locator('.highlight').allInnerTexts()).join(' '), /password|hash/i)
  const showsResult = async (index) => {
    const [name, line] = places[index]
    await page.locator('.tab.active', { hasText: name }).waitFor()
    await until(async () => (await editor.position.innerText()).startsWith(`Ln ${line}, `), `line ${line} of ${name}`)
    await until(async () => (await editor.visibleLine(line))?.startsVisible, `line ${line} to be readable`)
  }
  await editor.command('Winnow: Next Result')
  await showsResult(0)
  await page.keyboard.press('Control+Alt+.')
  await showsResult(1)
  await editor.screenshot('results')
  await editor.command('Winnow: Previous Result')
  await showsResult(0)
  // They share a preview tab. So do clicks; a double click opens a tab that stays.
  assert.equal((await editor.tabs()).length, 1)
  await item(2).click()
  await until(async () => (await editor.tabs()).join().startsWith('~'), 'a preview tab')
  await item(2).dblclick()
  await until(async () => /^[^~]+$/.test((await editor.tabs()).join()), async () => `a tab that stays; open are ${await editor.tabs()}`)
  await tree.filter({ hasText: 'how are passwords hashed' }).click({ button: 'right' })
  const copyAll = page.locator('.monaco-menu .action-item', { hasText: 'Copy All Paths and Lines' })
  await copyAll.waitFor()
  // A menu ignores clicks in its first 100 ms.
  await page.waitForTimeout(300)
  await copyAll.click()
  await until(
    async () => /^django\/\S+\.py:\d+$/m.test(await page.evaluate(() => navigator.clipboard.readText())),
    'paths in the clipboard',
  )
})

test('the history has each query once, the latest first', async () => {
  await editor.openBox('Control+Alt+W')
  await editor.sees(editor.rows.filter({ hasText: 'how are passwords hashed' }), /^how are passwords/)
  const texts = (await editor.rowTexts()).slice(3).map((text) => text.replace(/ ?recent$/, ''))
  assert.equal(new Set(texts).size, texts.length, texts.join('\n'))
  assert.equal(texts[0], 'how are passwords hashed')
  await editor.rows.filter({ hasText: 'django/db/migrations/recorder.py' }).click()
  await editor.titled(/^django\/db\/migrations\/recorder\.py · local/)
  await closePick()
})

test('at most eight commands are in the palette', async () => {
  await page.keyboard.press('F1')
  await editor.input.fill('>Winnow: ')
  await editor.sees(editor.rows.filter({ hasText: 'Winnow: Search by Terms' }), /Winnow/)
  // The editor adds the command to focus the view.
  const names = (await editor.rowTexts()).filter((row) => /^Winnow: (?!Focus on)/.test(row))
  assert.ok(names.length <= 8, names.join('\n'))
  await closePick()
})

test('the walkthrough leads to a search', async () => {
  await editor.command('Welcome: Open Walkthrough...')
  await editor.rows.filter({ hasText: 'Search with Winnow' }).click()
  const steps = page.locator('.gettingStartedSlideDetails')
  for (const step of ['Install the server', 'Search for anything', 'Let a model rank (optional)']) {
    const { isComplete } = await editor.sees(steps.getByText(step, { exact: true }), /\w/)
    assert.ok(isComplete, step)
  }
  await steps.getByText('Search for anything', { exact: true }).click()
  await steps.getByRole('button', { name: 'Search', exact: true }).click()
  await editor.sees(editor.rows.filter({ hasText: 'symbols: @Client.send' }), /\w/)
  await closePick()
})

test('pictures for the README', async () => {
  await editor.command('View: Close All Editors')
  await editor.command('View: Show Explorer')
  await page.setViewportSize({ width: 1280, height: 800 })
  await editor.probe('configure', { settings: { 'winnow.llm.enabled': false } })
  await editor.openFile('django/http/request.py')
  await editor.question('where is the CSRF token checked for a POST request')
  await previewed()
  await page.mouse.move(5, 600)
  await page.waitForTimeout(1_500)
  await editor.screenshot('search')
  await closePick()
})
