// Run a real VS Code (code-server) in a real browser, with the packaged extension and a real server.
//
// Environment variables, set by scripts/test: WINNOW_CODE_SERVER is the folder with code-server,
// WINNOW_CHROMIUM the browser, WINNOW_PYTHON a Python that can run the server from the checkout
// (PYTHONPATH), and WINNOW_TREE a real repository to search. run.mjs creates and deletes the folder of
// the run, which contains the installed extensions.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { chromium } from 'playwright-core'
import { ENTRY, EXTENSION, EXTENSIONS, HERE, OUT, RUN } from './paths.mjs'
import { descendants, kill } from './processes.mjs'
import { readable } from './screen.mjs'

export { EXTENSION, kill }
export const CHECKOUT = path.dirname(EXTENSION)
export const PYTHON = process.env.WINNOW_PYTHON ?? 'python3'
/** The server from the checkout, as `winnow.server.command`. */
export const SERVER = [PYTHON, '-m', 'winnow']
/** The timeout of all waits. A page loads slowly on a busy machine. */
export const TIMEOUT = 180_000
/** True if times and large numbers of cases are measured, by hand. Times mean nothing on a busy machine. */
export const MEASURED = process.env.WINNOW_MEASURE === '1'
/** The time that the box waits for another key. */
const TYPING_MS = 25

/** Create an empty folder, which is deleted at the end of the run. */
export function temporary(name) {
  return mkdtempSync(path.join(RUN, `${name}-`))
}

/**
 * Create a workspace with the repository, or some of its folders, and a document.
 *
 * Tests must not write to its files, because they are hard links.
 */
export function workspace(parts = ['.']) {
  const folder = path.join(temporary('workspace'), 'django')
  for (const part of parts) link(path.join(process.env.WINNOW_TREE, part), path.join(folder, part))
  mkdirSync(path.join(folder, 'docs'), { recursive: true })
  copyFileSync(path.join(CHECKOUT, 'docs/example/docs/handbook.pdf'), path.join(folder, 'docs/handbook.pdf'))
  return folder
}

/** Link files recursively. It takes a tenth of the time of copies, most of which is deletion. */
function link(from, to) {
  if (['.git', '.winnow'].includes(path.basename(from))) return
  if (statSync(from).isDirectory()) {
    mkdirSync(to, { recursive: true })
    for (const name of readdirSync(from)) link(path.join(from, name), path.join(to, name))
    return
  }
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to) // The target is on another file system.
  }
}

/** Create a small folder to search. */
export function project() {
  const folder = temporary('project')
  writeFileSync(path.join(folder, 'main.py'), 'def main():\n    print("hello")\n')
  return folder
}

/** Write an executable shell script and return its folder. */
export function program(folder, name, script) {
  mkdirSync(folder, { recursive: true })
  const file = path.join(folder, name)
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return folder
}

/** Start a fake language model on this machine. `count` returns its number of requests. */
export async function startModel() {
  const child = spawn(PYTHON, [path.join(HERE, 'model_server.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const address = (await lines.next()).value
  const mode = async (name = '') => {
    child.stdin.write(`${name}\n`)
    return Number((await lines.next()).value)
  }
  return { address, mode, count: () => mode(), stop: () => child.stdin.end() }
}

/** Return settings that use only this model. */
export function modelSettings(address) {
  return {
    'winnow.llm.preferred': ['wire'],
    // Lets a slow answer finish on a slow machine too.
    'winnow.llm.deadline_seconds': TIMEOUT / 1000,
    'winnow.llm.models': {
      wire: {
        provider: 'openai',
        model: 'wire-1',
        base_url: `${address}/v1`,
        prices: { input: 1, output: 5 },
      },
    },
  }
}

export const BASE_SETTINGS = {
  'winnow.server.command': SERVER,
  'winnow.llm.preferred': [],
  'winnow.llm.models': {},
  // Specs run in parallel: an index would wait for the others' processes.
  'winnow.index.cpu_throttle_threshold': 1,
  'workbench.startupEditor': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'editor.minimap.enabled': false,
  'chat.commandCenter.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'extensions.ignoreRecommendations': true,
  'git.enabled': false,
  'files.simpleDialog.enable': true,
  'workbench.tips.enabled': false,
  'workbench.reduceMotion': 'on',
  'files.autoSave': 'off',
}

/** The names of this extension's settings that belong to the machine. */
const OF_MACHINE = new Set(
  JSON.parse(readFileSync(path.join(EXTENSION, 'package.json'), 'utf-8'))
    .contributes.configuration.flatMap(({ properties }) => Object.entries(properties))
    .flatMap(([name, { scope }]) => (scope === 'machine' ? [name] : [])),
)

/** The browser, shared by all editors of a spec. */
let browser
const openBrowser = () =>
  (browser ??= chromium.launch({
    executablePath: process.env.WINNOW_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    timeout: TIMEOUT,
    env: { ...process.env, HOME: temporary('browser') },
  }))
after(async () => (await browser)?.close())

/** Run a test with its own editor. On failure, save a screenshot and print the log. */
export async function withEditor(options, run) {
  const editor = await startEditor(options)
  try {
    await run(editor)
  } catch (error) {
    await editor.screenshot(`failed ${Date.now()}`)
    console.log(editor.log())
    throw error
  } finally {
    await editor.close()
  }
}

/**
 * Start an editor with a folder or a `.code-workspace` file, and with the extensions of a folder: by
 * default this extension and the probe.
 */
export async function startEditor({ folder, settings = {}, env = {}, trusted = true, extensions = EXTENSIONS }) {
  const data = temporary('data')
  // A remote window reads settings of the machine only from a file of their own.
  const file = ([name]) => (OF_MACHINE.has(name) ? 'Machine' : 'User')
  const files = Object.groupBy(Object.entries({ ...BASE_SETTINGS, ...settings }), file)
  for (const [name, entries] of Object.entries(files)) {
    mkdirSync(path.join(data, name), { recursive: true })
    writeFileSync(path.join(data, name, 'settings.json'), JSON.stringify(Object.fromEntries(entries)))
  }
  const home = temporary('home')
  const environment = {
    ...process.env,
    PYTHONPATH: path.join(CHECKOUT, 'server'),
    HOME: home,
    XDG_CACHE_HOME: path.join(home, '.cache'),
    XDG_CONFIG_HOME: path.join(home, '.config'),
    PROBE: data,
    SHELL: '/bin/bash',
    ...env,
  }
  // The editor reads its environment from a login shell.
  writeFileSync(path.join(home, '.bash_profile'), `export PATH='${environment.PATH}'\n`)
  for (const name of Object.keys(environment)) {
    if (name.endsWith('_API_KEY') || name.startsWith('VSCODE_')) delete environment[name]
  }
  const child = spawn(
    process.execPath,
    [
      // The system chooses the port.
      ENTRY, '--bind-addr', '127.0.0.1:0', '--auth', 'none', '--disable-telemetry',
      '--disable-update-check', ...(trusted ? ['--disable-workspace-trust'] : []),
      '--user-data-dir', data, '--extensions-dir', extensions,
    ],
    // As after `code .`, the current folder is the workspace.
    { env: environment, cwd: statSync(folder).isDirectory() ? folder : undefined, stdio: ['ignore', 'pipe', 'ignore'], detached: true },
  )
  try {
    return await openPage({ child, data, folder })
  } catch (error) {
    for (const { pid } of [child, ...descendants(child.pid)]) kill(pid)
    throw error
  }
}

/** Return the address that code-server prints. */
async function addressOf(child) {
  let output = ''
  child.stdout.on('data', (data) => (output += data))
  const address = () => /listening on (http:\S+?)\/?\s/.exec(output)?.[1]
  await until(() => address() !== undefined, () => `code-server to listen; its output is “${output}”`)
  return address()
}

async function openPage({ child, data, folder }) {
  const address = await addressOf(child)
  const context = await (await openBrowser()).newContext({ viewport: { width: 1100, height: 700 } })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  page.setDefaultTimeout(TIMEOUT)
  const kind = folder.endsWith('.code-workspace') ? 'workspace' : 'folder'
  await page.goto(`${address}/?${kind}=${encodeURIComponent(folder)}`)
  await page.locator('.monaco-workbench').waitFor()
  await page.locator('#status\\.problems, .statusbar-item').first().waitFor()
  return new Editor({ page, context, child, data, folder })
}

/** Return the file name in a row, without its extension, and the line; 1 if it has none. */
export function placeOf(row) {
  // A symbol may have a dot, too, so look for a file with a line first.
  const [, name, line] = /([\w-]+)\.\w+:(\d+)/.exec(row) ?? /([\w-]+)\.\w+/.exec(row)
  return [name, line ?? '1']
}

/** A running editor: actions for tests, and what is visible in it. */
export class Editor {
  constructor({ page, context, child, data, folder }) {
    Object.assign(this, { page, context, child, data, folder })
    this.input = page.locator('.quick-input-widget:visible input.input').first()
    this.title = page.locator('.quick-input-widget:visible .quick-input-title')
    this.rows = page.locator('.quick-input-widget:visible .quick-input-list .monaco-list-row')
    // By index: after a change, the order of the elements can differ from that of the list.
    this.first = this.rows.and(page.locator('[data-index="0"]'))
    this.active = this.rows.and(page.locator('.focused'))
    this.notification = (text) => page.locator('.notification-list-item', { hasText: text })
    this.position = page.locator('#status\\.editor\\.selection')
  }

  /** Run a command by its name in the palette. */
  async command(name) {
    await this.choose('F1', `>${name}`, name)
  }

  /** Open a quick pick with a key, type into it, and accept the row that contains a text. */
  async choose(key, typed, text) {
    // Enter accepts the active row, so wait until the list matches the typed text.
    const row = this.active.filter({ hasText: text })
    // Contributions of extensions arrive after the page, and never in an open palette.
    let timeout = 1_500
    await until(async () => {
      timeout *= 2
      await this.page.keyboard.press(key)
      await this.input.fill(typed, { timeout })
      // If something else gets the focus, the palette closes and Enter would go there.
      const chosen = row.waitFor({ timeout }).then(() => this.input.press('Enter', { timeout }))
      if (await chosen.then(() => true, () => false)) return true
      await this.page.keyboard.press('Escape')
      return false
    }, `${text} to be chosen from what ${key} opens`)
  }

  /** Open the search box and enter a query at once. `kind` narrows the search. */
  async search(kind, query) {
    await this.openBox('Control+Alt+W')
    const prefix = { Search: '', 'Search Text': '"', 'Search Symbols': '@', 'Search Documents': '>docs ' }[kind]
    // Typed key by key, the answer to a part of the query could appear first.
    await this.page.keyboard.insertText(prefix + query)
  }

  /** Open the search box with a key. */
  async openBox(key) {
    // Typing into a box that is still open would extend its query.
    await this.page.locator('.quick-input-widget').first().waitFor({ state: 'hidden' })
    // Keys of extensions arrive after the page.
    await until(async () => {
      await this.page.keyboard.press(key)
      return this.input.waitFor({ timeout: 2_000 }).then(() => true, () => false)
    }, `the search box to open with ${key}`)
  }

  /** Enter a question into the search box and wait for the local answer. */
  async question(query) {
    await this.search('Search', query)
    await this.answered()
  }

  /** Wait for the complete answer to the typed text. */
  async answered(by = 'local') {
    await this.titled(new RegExp(` · ${by}`))
  }

  /** Wait until keys go to a text editor: a preview shows the same file while they still go to the box. */
  async hasFocus() {
    await this.page.locator('.part.editor .monaco-editor.focused').waitFor()
  }

  /** Resume the last search and wait for its active row. */
  async resume() {
    await this.openBox('Control+Alt+Shift+W')
    await this.active.waitFor()
  }

  /** Run a command of the menu of the status item. */
  async menu(label) {
    await this.command('Winnow: Menu')
    await this.titled(/^Winnow$/)
    await this.rows.filter({ hasText: label }).click()
  }

  /** Return the name of the active row's file, without its extension, and the line. */
  async activePlace() {
    return placeOf(await this.active.innerText())
  }

  /**
   * Return the readable part of an element, or undefined if there is no such element.
   *
   * `text` has its lines, without characters that are cut off, outside the window or covered.
   * `isComplete` is true if all of it is readable, `startsVisible` if its start is. `box` is its
   * bounding box.
   */
  async visible(locator) {
    return (await locator.first().evaluateAll(readable))[0]
  }

  /** Wait until an element's readable text matches, ignoring line breaks. Return the readable part. */
  async sees(locator, pattern, timeout = TIMEOUT) {
    let seen
    await until(
      async () => {
        seen = await this.visible(locator)
        return pattern.test((seen?.text ?? '').replace(/\s+/g, ' ').trim())
      },
      () => `${pattern} to be readable; readable is ${JSON.stringify(seen)}`,
      timeout,
    )
    return seen
  }

  /** Return the readable part of each row of the list, in their order on the screen. */
  async visibleRows() {
    const rows = await this.rows.evaluateAll(readable)
    return rows.filter(({ text }) => text).toSorted((left, right) => left.box.y - right.box.y)
  }

  /**
   * Return the readable part of a line, from 1; undefined if it isn't rendered. `group` selects the
   * active editor, or the preview below it.
   */
  async visibleLine(number, group = '.active') {
    const code = this.page.locator(`.editor-group-container${group} .monaco-editor`)
    // Read everything in one call, so that the editor can't scroll in between.
    const parts = await code.locator('.line-numbers, .view-line').evaluateAll(readable)
    const isLine = ({ className }) => className.includes('view-line')
    const label = parts.find((part) => !isLine(part) && part.textContent.trim() === String(number))
    return label && parts.find((part) => isLine(part) && Math.abs(part.box.y - label.box.y) < 2)
  }

  /** Wait until the readable part of a line of the active editor matches. */
  async seesLine(number, pattern) {
    let seen
    await until(
      async () => pattern.test((seen = await this.visibleLine(number))?.text ?? ''),
      () => `${pattern} to be readable in line ${number}; readable is ${JSON.stringify(seen)}`,
    )
  }

  /** Wait until a preview shows a line, readable below the list. Return its readable part. */
  async previews(number) {
    let seen, end
    await until(
      async () => {
        const { y, height } = await this.quickPick()
        end = y + height
        seen = await this.visibleLine(number, ':not(.active)')
        return (seen?.startsVisible || seen?.textContent.trim() === '') && seen.box.y >= end
      },
      () => `line ${number} to be readable below the list, which ends at ${end}; readable is ${JSON.stringify(seen)}`,
      TIMEOUT / 6,
    )
    return seen
  }

  /** Return the bounding box of the quick pick. */
  quickPick() {
    return this.page.locator('.quick-input-widget:visible').boundingBox()
  }

  /** Return the texts of the rows, each with its second line. */
  async rowTexts() {
    return this.rows.evaluateAll((rows) =>
      rows
        .toSorted((left, right) => left.dataset.index - right.dataset.index)
        .map((row) => row.innerText.replace(/\s+/g, ' ').trim()),
    )
  }

  /** Wait until the title of the quick pick matches. */
  async titled(pattern) {
    let seen
    await until(
      async () => {
        seen = await this.title.innerText({ timeout: 1_000 }).catch(() => undefined)
        return seen !== undefined && pattern.test(seen)
      },
      () => `a title like ${pattern}; ${seen === undefined ? 'no box is open' : `it is “${seen}”`}`,
    )
  }

  /** Return the names of the open tabs. A preview tab has a ~ before its name. */
  async tabs() {
    // Read all names in one call, because a tab may close in between.
    return this.page.locator('.tabs-container .tab').evaluateAll((tabs) =>
      tabs.map((tab) => {
        const name = tab.querySelector('.label-name').innerText.trim()
        return tab.querySelector('.monaco-icon-label.italic') ? `~${name}` : name
      }),
    )
  }

  /**
   * Type a query and wait until the list stays the same. Return the milliseconds from the last key to
   * the answer (`answered`) and to the last change of its first row (`changed`).
   */
  async timed(query) {
    await this.page.evaluate((typingMs) => {
      const widget = document.querySelector('.quick-input-widget')
      const recorded = (window.__recorded = {})
      const isAnswered = () => / · local/.test(widget.querySelector('.quick-input-title')?.innerText)
      let typedAt
      let isOld
      let first
      const record = () => {
        const passed = performance.now() - typedAt
        if (!isAnswered()) isOld = false
        // An answer to the text without the last key may be on its way.
        else if (!isOld && passed >= typingMs) {
          recorded.answered ??= passed
          const shown = widget.querySelector('.monaco-list-row[data-index="0"]')?.innerText
          if (shown !== first) recorded.changed = passed
          first = shown
        }
      }
      const typed = () => {
        typedAt = performance.now()
        isOld = isAnswered()
        first = undefined
        delete recorded.answered
      }
      window.__recording?.abort()
      window.__recording = new AbortController()
      const { signal } = window.__recording
      window.addEventListener('keydown', typed, { capture: true, signal })
      const observer = new MutationObserver(record)
      observer.observe(widget, { subtree: true, childList: true, characterData: true, attributes: true })
      signal.addEventListener('abort', () => observer.disconnect())
    }, TYPING_MS)
    await this.page.keyboard.type(query, { delay: 60 })
    await this.answered()
    await this.page.waitForTimeout(1_000)
    return this.page.evaluate(() => window.__recorded)
  }

  /** Wait until the index is ready, which takes long if its low priority matters. */
  async indexed() {
    const status = this.page.locator('.statusbar-item[id="winnow-ls.winnow.winnow.status"]')
    await this.sees(status, /^Winnow: ready$/, 4 * TIMEOUT)
  }

  /** Run an action of the probe and return its result. */
  async probe(action, input = {}) {
    const done = path.join(this.data, 'done.json')
    rmSync(done, { force: true })
    writeFileSync(path.join(this.data, 'part.json'), JSON.stringify({ action, ...input }))
    renameSync(path.join(this.data, 'part.json'), path.join(this.data, 'todo.json'))
    await until(() => existsSync(done), `the probe to finish ${action}`)
    return JSON.parse(readFileSync(done, 'utf-8'))
  }

  async openFile(name) {
    const file = path.basename(name).split(':')[0]
    await this.choose('Control+P', name, file)
    await this.page.locator('.tab.active', { hasText: file }).waitFor()
  }

  async screenshot(name, clip) {
    mkdirSync(OUT, { recursive: true })
    await this.page.screenshot({ path: path.join(OUT, `${name}.png`), ...(clip ? { clip } : {}) })
  }

  /** Return the log of the extension. */
  log() {
    const logs = path.join(this.data, 'logs')
    if (!existsSync(logs)) return ''
    return readdirSync(logs, { recursive: true })
      .filter((file) => file.endsWith('Winnow.log'))
      .map((file) => readFileSync(path.join(logs, file), 'utf-8'))
      .join('\n')
  }

  /** Return the processes of this editor whose command line matches. */
  processes(pattern) {
    const all = descendants(this.child.pid)
    // Between fork and exec, a child has the command line of its parent.
    const isFork = (child) => all.some(({ pid, command }) => pid === child.parent && command === child.command)
    return all.filter((candidate) => pattern.test(candidate.command) && !isFork(candidate))
  }

  async close() {
    const started = descendants(this.child.pid)
    await this.context.close()
    kill(this.child.pid)
    for (const { pid } of started) kill(pid)
  }
}

/** Return the value that a part of the numbers doesn't exceed. */
export function quantile(numbers, part) {
  const sorted = numbers.toSorted((left, right) => left - right)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)])
}

/** Wait until a condition is true. `description` is a text, or a function that returns one, for the error. */
export async function until(condition, description, timeout = TIMEOUT) {
  const end = Date.now() + timeout
  let problem
  while (Date.now() < end) {
    try {
      if (await condition()) return
      problem = undefined
    } catch (error) {
      problem = error
    }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  const text = typeof description === 'function' ? await description() : description
  throw new Error(`Waited ${timeout / 1000} s for ${text}${problem ? ` (${problem.message})` : ''}`)
}
