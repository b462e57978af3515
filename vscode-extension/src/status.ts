import * as vscode from 'vscode'

import { offered, type Offer } from './agents'
import { StartFailed } from './client'
import { changeIndex, type IndexStatusResult, indexStatus, refresh } from './core/protocol'
import { type IndexSummary, summaryOf } from './core/index-state'
import type { LanguageFeatures } from './language-features'
import { log, messageOf } from './log'
import type { Announcement } from './announcement'
import type { Server } from './server'

/** Update interval while the index is built, and after the server started. */
const BUILDING_MS = 2_000
/** Update interval otherwise: another program may have changed the index. */
const IDLE_MS = 60_000
const NONE = new vscode.CancellationTokenSource().token
const OFFERS: Record<Offer, string> = {
  lean: 'Four tools: search, grep, references and read',
  all: 'All tools',
  mcp: 'The MCP server',
  off: 'None',
}

/** The status bar item: the state of the index, and a menu. */
export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem(
    'winnow.status',
    vscode.StatusBarAlignment.Right,
    90,
  )
  private timer: NodeJS.Timeout | undefined
  private latestCall = 0
  private changedAt = 0
  private summary: IndexSummary | undefined
  /** Why a running server has no status, such as that the folder is missing. */
  private problem = ''
  private readonly disposables: vscode.Disposable[]

  constructor(
    private readonly server: Server,
    private readonly features: LanguageFeatures,
    private readonly announcement: Announcement,
  ) {
    this.item.name = 'Winnow'
    this.item.command = 'winnow.menu'
    this.disposables = [
      this.item,
      server.onDidChange(() => {
        this.changedAt = Date.now()
        void this.update()
      }),
    ]
  }

  /** Request the state of the index and show it. */
  async update(): Promise<void> {
    clearTimeout(this.timer)
    const call = ++this.latestCall
    let status: IndexStatusResult | undefined
    let problem = ''
    if (this.server.isRunning) {
      try {
        status = await this.server.request(indexStatus, {}, NONE)
      } catch (error) {
        problem = messageOf(error)
        log.info(`Could not get the index status: ${problem}`)
      }
    }
    if (call !== this.latestCall) return
    this.summary = status && summaryOf(status.index)
    this.problem = problem
    this.show()
    if (!this.server.isRunning) return
    if (status?.index.folders.some(({ state }) => state === 'building')) void this.announcement.show()
    const isChanging = this.summary?.isBuilding || Date.now() - this.changedAt < IDLE_MS
    const wait = isChanging ? BUILDING_MS : IDLE_MS
    this.timer = setTimeout(() => void this.update(), wait)
  }

  dispose(): void {
    clearTimeout(this.timer)
    for (const disposable of this.disposables) disposable.dispose()
  }

  private show(): void {
    const { summary, problem } = this
    const other = problem ? ['warning', 'index problem'] : ['circle-slash', 'not running']
    const [icon, state] = this.server.isStarting ? ['sync~spin', 'starting'] : other
    this.item.text = summary ? `$(${summary.icon}) ${summary.text}` : `$(${icon}) Winnow: ${state}`
    const lines = summary?.lines ?? [problem || `The server is ${state}.`]
    const markdown = new vscode.MarkdownString()
    for (const line of ['**Winnow**', ...lines]) {
      markdown.appendMarkdown(`${line}\n\n`)
    }
    this.item.tooltip = markdown
    this.item.show()
  }

  /** Show the menu with actions for the index and the server. */
  async menu(): Promise<void> {
    const index = (label: string, action: 'build' | 'pause' | 'resume' | 'clear') => ({
      label,
      run: () => this.changeIndex(action),
    })
    const command = (label: string, name: string, ...args: unknown[]) => ({
      label,
      run: () => vscode.commands.executeCommand(name, ...args),
    })
    const separator = (label: string) => ({
      label,
      kind: vscode.QuickPickItemKind.Separator,
      run: () => undefined,
    })
    const paused = this.summary?.isPaused
    const items = [
      command('$(search) Search', 'winnow.search'),
      command('$(history) Resume the last search', 'winnow.resume'),
      command('$(list-flat) Search history…', 'winnow.history'),
      separator('index'),
      index('$(database) Build or update the index', 'build'),
      paused ? index('$(play) Resume indexing', 'resume') : index('$(debug-pause) Pause indexing', 'pause'),
      { label: '$(refresh) Check for changed files now', run: () => this.refresh() },
      { label: '$(trash) Delete the index…', run: () => this.deleteIndex() },
      separator('server'),
      {
        ...command('$(references) Definitions and references', 'workbench.action.openSettings', 'winnow.provideLanguageFeatures'),
        detail: this.features.summary,
      },
      {
        ...command('$(tools) Tools for agents in the editor', 'workbench.action.openSettings', 'winnow.tools'),
        description: OFFERS[offered()],
      },
      command('$(key) Set a key for a language model…', 'winnow.setKey'),
      command('$(shield) Consent to a language model…', 'winnow.consent'),
      command('$(list-flat) Show what left this machine', 'winnow.audit'),
      command('$(gear) Settings', 'workbench.action.openSettings', '@ext:winnow-ls.winnow'),
      command('$(debug-restart) Restart the server', 'winnow.restart'),
      command('$(output) Show the log', 'winnow.showLog'),
    ]
    const chosen = await vscode.window.showQuickPick(items, {
      title: 'Winnow',
      placeHolder: this.summary?.lines[0] ?? 'The server is not running',
    })
    await chosen?.run()
  }

  private async changeIndex(action: 'build' | 'pause' | 'resume' | 'clear'): Promise<void> {
    await this.reportErrors(async () => {
      await this.server.request(changeIndex, { action }, NONE)
    })
  }

  private async deleteIndex(): Promise<void> {
    const remove = 'Delete'
    const detail = 'Searches take longer and know less until it is built again.'
    const options = { modal: true, detail }
    const chosen = await vscode.window.showWarningMessage('Delete the index of this workspace?', options, remove)
    if (chosen === remove) await this.changeIndex('clear')
  }

  private async refresh(): Promise<void> {
    const options = { location: vscode.ProgressLocation.Window, title: 'Winnow: checking for changes' }
    await this.reportErrors(async () => {
      await vscode.window.withProgress(options, () => this.server.request(refresh, { wait: true }, NONE))
    })
  }

  private async reportErrors(task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      if (!(error instanceof StartFailed)) void vscode.window.showErrorMessage(`Winnow: ${messageOf(error)}`)
    }
    await this.update()
  }
}
