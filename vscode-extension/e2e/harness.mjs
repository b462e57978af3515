// A real VS Code (code-server) in a real browser, with the packaged extension and a real server.
//
// Parts come from the environment, see scripts/environment: WINNOW_CODE_SERVER is the folder with
// code-server, WINNOW_CHROMIUM the browser, WINNOW_PYTHON a Python that can run the server from the
// checkout (PYTHONPATH), WINNOW_TREE a real repository to search in. run.mjs adds the folder of the
// run, in which it has installed the extensions, and which it deletes.
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
/** The one limit of all waits: a page that loads while other things run takes its time. */
export const PATIENCE = 180_000

/** An empty folder that is deleted at the end of the run. */
export function temporary(name) {
  return mkdtempSync(path.join(RUN, `${name}-`))
}

/** The repository to search in, or some of its folders, with a document. No test writes to its files. */
export function workspace(parts = ['.']) {
  const folder = path.join(temporary('workspace'), 'django')
  for (const part of parts) link(path.join(process.env.WINNOW_TREE, part), path.join(folder, part))
  mkdirSync(path.join(folder, 'docs'), { recursive: true })
  copyFileSync(path.join(CHECKOUT, 'docs/example/docs/handbook.pdf'), path.join(folder, 'docs/handbook.pdf'))
  return folder
}

/** Links files, which costs a tenth of the time of copies, most of which their deletion takes. */
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
    copyFileSync(from, to) // On another file system.
  }
}

/** A small folder to search in. */
export function project() {
  const folder = temporary('project')
  writeFileSync(path.join(folder, 'main.py'), 'def main():\n    print("hello")\n')
  return folder
}

/** A program of a name in a folder. */
export function program(folder, name, script) {
  mkdirSync(folder, { recursive: true })
  const file = path.join(folder, name)
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return folder
}

/** A language model on this machine; `count` gives the number of requests that it has had. */
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

/** Settings with which that model, and no other, is asked. */
export function modelSettings(address) {
  return {
    'winnow.llm.preferred': ['wire'],
    // One that writes slowly comes to its end, on a slow machine, too.
    'winnow.llm.deadline_seconds': PATIENCE / 1000,
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

/** A browser for all editors of a spec. */
let browser
const openBrowser = () =>
  (browser ??= chromium.launch({
    executablePath: process.env.WINNOW_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    timeout: PATIENCE,
    env: { ...process.env, HOME: temporary('browser') },
  }))
after(async () => (await browser)?.close())

/** Runs a test with an editor of its own; where it fails, there is a picture, and the log. */
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

/** An editor on a folder, or on a `.code-workspace` file, with this extension and the probe. */
export async function startEditor({ folder, settings = {}, env = {}, trusted = true }) {
  const data = temporary('data')
  mkdirSync(path.join(data, 'User'), { recursive: true })
  const all = { ...BASE_SETTINGS, ...settings }
  writeFileSync(path.join(data, 'User/settings.json'), JSON.stringify(all))
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
  // The editor takes its environment from a login shell.
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
      '--user-data-dir', data, '--extensions-dir', EXTENSIONS,
    ],
    { env: environment, stdio: ['ignore', 'pipe', 'ignore'], detached: true },
  )
  try {
    return await opened({ child, data, folder })
  } catch (error) {
    for (const one of [child, ...descendants(child.pid)]) kill(one.pid)
    throw error
  }
}

/** Where code-server listens, as it says. */
async function addressOf(child) {
  let said = ''
  child.stdout.on('data', (data) => (said += data))
  const address = () => /listening on (http:\S+?)\/?\s/.exec(said)?.[1]
  await until(() => address() !== undefined, () => `code-server listens, it said “${said}”`)
  return address()
}

async function opened({ child, data, folder }) {
  const address = await addressOf(child)
  const context = await (await openBrowser()).newContext({ viewport: { width: 1100, height: 700 } })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const kind = folder.endsWith('.code-workspace') ? 'workspace' : 'folder'
  await page.goto(`${address}/?${kind}=${encodeURIComponent(folder)}`)
  await page.locator('.monaco-workbench').waitFor()
  await page.locator('#status\\.problems, .statusbar-item').first().waitFor()
  return new Editor({ page, context, child, data, folder })
}

/** What tests do in an editor, and see. */
export class Editor {
  constructor({ page, context, child, data, folder }) {
    Object.assign(this, { page, context, child, data, folder })
    this.input = page.locator('.quick-input-widget:visible input.input').first()
    this.title = page.locator('.quick-input-widget:visible .quick-input-title')
    this.rows = page.locator('.quick-input-widget:visible .quick-input-list .monaco-list-row')
    // By its place: the elements of a list that has changed may stand in another order.
    this.first = this.rows.and(page.locator('[data-index="0"]'))
    this.active = this.rows.and(page.locator('.focused'))
    this.notification = (text) => page.locator('.notification-list-item', { hasText: text })
    this.position = page.locator('#status\\.editor\\.selection')
  }

  /** Runs a command by its name in the palette. */
  async command(name) {
    await this.choose('F1', `>${name}`, name)
  }

  /** Opens a quick pick with a key, types into it, and takes the row that has a text. */
  async choose(key, typed, text) {
    // Enter takes the active row: until the list follows what was typed, that is another one.
    const row = this.active.filter({ hasText: text })
    // What extensions contribute comes a moment after the page, and not to an open palette.
    let timeout = 1_500
    await until(async () => {
      timeout *= 2
      await this.page.keyboard.press(key)
      await this.input.fill(typed, { timeout })
      // What takes the focus now closes the palette, and would get the key.
      const chosen = row.waitFor({ timeout }).then(() => this.input.press('Enter', { timeout }))
      if (await chosen.then(() => true, () => false)) return true
      await this.page.keyboard.press('Escape')
      return false
    }, `${text} to be chosen from what ${key} opens`)
  }

  /** Opens a picker by its command and types into it. */
  async search(name, query) {
    await this.command(`Winnow: ${name}`)
    await this.titled(/^Winnow /)
    await this.page.keyboard.type(query)
  }

  /** Shows the last list again, which has its active row then. */
  async resume() {
    await this.command('Winnow: Resume Last Search')
    await this.titled(/ranked by/)
    await this.active.waitFor()
  }

  /** Asks a question in a keyword search, up to the moment before Enter. */
  async question(query) {
    await this.search('Keyword Search', query)
    await this.sees(this.first, new RegExp(`Search for “${query}” ?Terms: \\S`))
  }

  /** The name of the active row's file, without what it ends in, and its line. */
  async activePlace() {
    const label = (await this.active.locator('.label-name').first().innerText()).trim()
    const [, name, line] = /^(.+?)(?:\.\w+)?(?::(\d+))?$/.exec(label)
    return [name, line ?? '1']
  }

  /**
   * What somebody can read of an element: its `text`, line by line, without what is cut, is beyond
   * the window or lies below something else; whether that is the `whole` of it, or at least where
   * it `begins`; and its `box`.
   * Undefined where there is no such element.
   */
  async visible(locator) {
    return (await locator.first().evaluateAll(readable))[0]
  }

  /** Waits until a pattern can be read in an element, however its lines are broken; gives what can. */
  async sees(locator, pattern) {
    let seen
    await until(
      async () => {
        seen = await this.visible(locator)
        return pattern.test((seen?.text ?? '').replace(/\s+/g, ' ').trim())
      },
      () => `${pattern} to be readable, what can be read is ${JSON.stringify(seen)}`,
    )
    return seen
  }

  /** What can be read of the rows of the list, in their order on the screen. */
  async visibleRows() {
    const rows = await this.rows.evaluateAll(readable)
    return rows.filter(({ text }) => text).toSorted((one, other) => one.box.y - other.box.y)
  }

  /** What can be read of a line of the active editor, from 1; undefined where it is not rendered. */
  async visibleLine(number) {
    const code = this.page.locator('.editor-group-container.active .monaco-editor')
    // At one moment, in which the editor is not scrolled.
    const parts = await code.locator('.line-numbers, .view-line').evaluateAll(readable)
    const isLine = ({ className }) => className.includes('view-line')
    const at = parts.find((one) => !isLine(one) && one.textContent.trim() === String(number))
    return at && parts.find((one) => isLine(one) && Math.abs(one.box.y - at.box.y) < 2)
  }

  /** Waits until a pattern can be read in a line of the active editor. */
  async seesLine(number, pattern) {
    let seen
    await until(
      async () => pattern.test((seen = await this.visibleLine(number))?.text ?? ''),
      () => `${pattern} to be readable in line ${number}, what can be read is ${JSON.stringify(seen)}`,
    )
  }

  /** Waits until a line of the active editor is rendered; gives what can be read of it. */
  async renderedLine(number) {
    let seen
    await until(async () => (seen = await this.visibleLine(number)), `line ${number} is rendered`)
    return seen
  }

  /** Where the quick pick is. */
  quickPick() {
    return this.page.locator('.quick-input-widget:visible').boundingBox()
  }

  /** The texts of the rows that are shown, each with its second line. */
  async rowTexts() {
    return this.rows.evaluateAll((rows) =>
      rows
        .toSorted((one, other) => one.dataset.index - other.dataset.index)
        .map((row) => row.innerText.replace(/\s+/g, ' ').trim()),
    )
  }

  /** Waits until the title of the quick pick matches. */
  async titled(pattern) {
    await until(
      async () => pattern.test(await this.title.innerText()),
      () => this.title.innerText().then((text) => `a title like ${pattern}, it is “${text}”`),
    )
  }

  /** The names of the open tabs; one in italics is a preview and has a ~ before it. */
  async tabs() {
    // At one moment: a tab that is being closed could not be asked for its name any more.
    return this.page.locator('.tabs-container .tab').evaluateAll((tabs) =>
      tabs.map((tab) => {
        const name = tab.querySelector('.label-name').innerText.trim()
        return tab.querySelector('.monaco-icon-label.italic') ? `~${name}` : name
      }),
    )
  }

  /**
   * Records in the page what the quick pick shows from the next Enter on: `began` and each time in
   * milliseconds, with the title, the rows, the active one, and how often somebody has moved down.
   * Gives a function that gives it.
   */
  async recording() {
    await this.page.evaluate(() => {
      const frames = []
      let began
      let downs = 0
      const look = () => {
        const widget = document.querySelector('.quick-input-widget')
        if (began === undefined || !widget) return
        const text = (one) => one?.innerText.replace(/\s+/g, ' ').trim() ?? ''
        const elements = [...widget.querySelectorAll('.quick-input-list .monaco-list-row')]
        const rows = elements.toSorted((one, other) => one.dataset.index - other.dataset.index).map(text)
        const title = text(widget.querySelector('.quick-input-title'))
        const active = text(widget.querySelector('.quick-input-list .monaco-list-row.focused'))
        const last = frames.at(-1)
        const same = last && last.title === title && last.active === active && last.rows.join() === rows.join()
        if (!same) frames.push({ at: performance.now() - began, title, rows, active, downs })
      }
      const observer = new MutationObserver(look)
      observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
      const start = (event) => {
        if (event.key === 'Enter') began ??= performance.now()
        if (event.key === 'ArrowDown') downs++
      }
      document.addEventListener('keydown', start, true)
      window.__recorded = () => {
        observer.disconnect()
        document.removeEventListener('keydown', start, true)
        return frames
      }
    })
    return () => this.page.evaluate(() => window.__recorded())
  }

  /** Has the probe do something; gives what came of it. */
  async probe(action, input = {}) {
    const done = path.join(this.data, 'done.json')
    rmSync(done, { force: true })
    writeFileSync(path.join(this.data, 'part.json'), JSON.stringify({ action, ...input }))
    renameSync(path.join(this.data, 'part.json'), path.join(this.data, 'todo.json'))
    await until(() => existsSync(done), `the probe has done ${action}`)
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

  /** What the extension has written to its channel. */
  log() {
    const logs = path.join(this.data, 'logs')
    if (!existsSync(logs)) return ''
    return readdirSync(logs, { recursive: true })
      .filter((file) => file.endsWith('Winnow.log'))
      .map((file) => readFileSync(path.join(logs, file), 'utf-8'))
      .join('\n')
  }

  /** The processes of this editor whose command line matches. */
  processes(pattern) {
    const all = descendants(this.child.pid)
    // Until it is another program, a child has the command line of its parent.
    const isFork = (one) => all.some(({ pid, command }) => pid === one.parent && command === one.command)
    return all.filter((one) => pattern.test(one.command) && !isFork(one))
  }

  async close() {
    const started = descendants(this.child.pid)
    await this.context.close()
    kill(this.child.pid)
    for (const one of started) kill(one.pid)
  }
}

/** Waits until something holds; `what` says what did not, or how to find that out. */
export async function until(holds, what, patience = PATIENCE) {
  const end = Date.now() + patience
  let problem
  while (Date.now() < end) {
    try {
      if (await holds()) return
      problem = undefined
    } catch (error) {
      problem = error
    }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  const said = typeof what === 'function' ? await what() : what
  throw new Error(`Not within ${patience / 1000} s: ${said}${problem ? ` (${problem.message})` : ''}`)
}
