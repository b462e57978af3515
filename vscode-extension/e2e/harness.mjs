// A real VS Code (code-server) in a real browser, with the packaged extension and a real server.
//
// Parts come from the environment, see scripts/environment: WINNOW_CODE_SERVER is the folder with
// code-server, WINNOW_CHROMIUM the browser, WINNOW_PYTHON a Python that can run the server from the
// checkout (PYTHONPATH), WINNOW_TREE a real repository to search in.
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const HERE = path.dirname(fileURLToPath(import.meta.url))
export const EXTENSION = path.dirname(HERE)
export const OUT = path.join(HERE, 'out')
export const CHECKOUT = path.dirname(EXTENSION)
export const PYTHON = process.env.WINNOW_PYTHON ?? 'python3'
/** The server from the checkout, as `winnow.server.command`. */
export const SERVER = [PYTHON, '-m', 'winnow']
/** What is waited for longest: a page that loads while other things run. */
export const PATIENCE = 30_000

const folders = []
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** An empty folder that is deleted at the end of the run. */
export function temporary(name) {
  const folder = mkdtempSync(path.join(tmpdir(), `winnow-e2e-${name}-`))
  folders.push(folder)
  return folder
}

/** A copy of the repository to search in, with a document. */
export function workspace() {
  const folder = path.join(temporary('workspace'), 'django')
  cpSync(process.env.WINNOW_TREE, folder, {
    recursive: true,
    filter: (file) => !['.git', '.winnow'].includes(path.basename(file)),
  })
  cpSync(path.join(CHECKOUT, 'docs/example/docs/handbook.pdf'), path.join(folder, 'docs/handbook.pdf'))
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
    // One that writes slowly is broken off, after its first file.
    'winnow.llm.deadline_seconds': 10,
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
}

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
  const installed = temporary('extensions')
  mkdirSync(path.join(data, 'User'), { recursive: true })
  const all = { ...BASE_SETTINGS, ...settings }
  writeFileSync(path.join(data, 'User/settings.json'), JSON.stringify(all))
  const program = path.join(process.env.WINNOW_CODE_SERVER, 'node_modules/code-server/out/node/entry.js')
  const folders = ['--user-data-dir', data, '--extensions-dir', installed]
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
  const vsix = ['winnow', 'probe'].map((name) => path.join(EXTENSION, `dist/${name}.vsix`))
  execFileSync(
    process.execPath,
    [program, ...folders, ...vsix.flatMap((file) => ['--install-extension', file])],
    { env: environment, stdio: 'pipe' },
  )
  const port = await freePort()
  const child = spawn(
    process.execPath,
    [
      program, '--bind-addr', `127.0.0.1:${port}`, '--auth', 'none', '--disable-telemetry',
      '--disable-update-check', ...(trusted ? ['--disable-workspace-trust'] : []), ...folders,
    ],
    { env: environment, stdio: 'ignore', detached: true },
  )
  try {
    return await opened({ child, port, data, folder })
  } catch (error) {
    for (const one of [child, ...descendants(child.pid)]) kill(one.pid)
    throw error
  }
}

async function opened({ child, port, data, folder }) {
  const address = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${address}/healthz`)).ok, 'code-server answers')
  const browser = await chromium.launch({
    executablePath: process.env.WINNOW_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
  const context = await browser.newContext({ viewport: { width: 1100, height: 700 } })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const kind = folder.endsWith('.code-workspace') ? 'workspace' : 'folder'
  await page.goto(`${address}/?${kind}=${encodeURIComponent(folder)}`)
  await page.locator('.monaco-workbench').waitFor()
  await page.locator('#status\\.problems, .statusbar-item').first().waitFor()
  return new Editor({ page, browser, child, data, folder })
}

/** What tests do in an editor, and see. */
export class Editor {
  constructor({ page, browser, child, data, folder }) {
    Object.assign(this, { page, browser, child, data, folder })
    this.input = page.locator('.quick-input-widget:visible input.input').first()
    this.title = page.locator('.quick-input-widget:visible .quick-input-title')
    this.rows = page.locator('.quick-input-widget:visible .quick-input-list .monaco-list-row')
    this.active = page.locator('.quick-input-widget:visible .quick-input-list .monaco-list-row.focused')
    this.notification = (text) => page.locator('.notification-list-item', { hasText: text })
    this.position = page.locator('#status\\.editor\\.selection')
  }

  /** Runs a command by its name in the palette. */
  async command(name) {
    const row = this.rows.filter({ hasText: name }).first()
    // What extensions contribute comes a moment after the page, and not to an open palette.
    await until(async () => {
      await this.page.keyboard.press('F1')
      await this.input.fill(`>${name}`, { timeout: 1_500 })
      if (await row.waitFor({ timeout: 1_500 }).then(() => true, () => false)) return true
      await this.page.keyboard.press('Escape')
      return false
    }, `the command ${name}`)
    await this.page.keyboard.press('Enter')
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
    const proposed = async () => (await this.rowTexts())[0] ?? ''
    await until(async () => {
      const row = await proposed()
      return row.includes(query) && row.includes('Terms: ')
    }, async () => `terms for “${query}”, the first row is “${await proposed()}”`)
  }

  /** The name of the active row's file, without what it ends in, and its line. */
  async activePlace() {
    const label = (await this.active.locator('.label-name').first().innerText()).trim()
    const [, name, line] = /^(.+?)(?:\.\w+)?(?::(\d+))?$/.exec(label)
    return [name, line ?? '1']
  }

  /** The texts of the rows that are shown, each with its second line. */
  async rowTexts() {
    return (await this.rows.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim())
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
        const rows = [...widget.querySelectorAll('.quick-input-list .monaco-list-row')].map(text)
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
    writeFileSync(path.join(this.data, 'todo.json'), JSON.stringify({ action, ...input }))
    await this.command('Probe: Run')
    await until(() => existsSync(done), `the probe has done ${action}`)
    return JSON.parse(readFileSync(done, 'utf-8'))
  }

  async openFile(name) {
    await this.page.keyboard.press('Control+P')
    await this.input.waitFor()
    await this.input.fill(name)
    const file = path.basename(name).split(':')[0]
    await this.rows.filter({ hasText: file }).first().waitFor()
    await this.page.keyboard.press('Enter')
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
    return descendants(this.child.pid).filter((one) => pattern.test(one.command))
  }

  async close() {
    const started = descendants(this.child.pid)
    await this.browser.close()
    kill(this.child.pid)
    for (const one of started) kill(one.pid)
  }
}

/** The processes that a process has started, and those that these have started. */
function descendants(pid) {
  const all = processes()
  const found = []
  for (const parents = [pid]; parents.length; ) {
    const parent = parents.pop()
    for (const one of all) {
      if (one.parent !== parent) continue
      found.push(one)
      parents.push(one.pid)
    }
  }
  return found
}

/** The processes of this machine. */
function processes() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf-8')
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf-8').replaceAll('\0', ' ').trim()
        return state === 'Z' ? [] : [{ pid: Number(pid), parent: Number(parent), command }]
      } catch {
        return []
      }
    })
}

export function kill(pid, signal = 'SIGKILL') {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended already.
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

async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}
