import * as vscode from 'vscode'

import { log } from './log'

const SETTING = 'winnow.trace.server'

/**
 * Return a channel for the messages between editor and server. The client writes them only if the
 * channel's level is "trace", which settings can't change. This channel reports that level if
 * `winnow.trace.server` is on.
 */
export function traceChannel(): vscode.LogOutputChannel & vscode.Disposable {
  const isOn = () => vscode.workspace.getConfiguration().get(SETTING, 'off') !== 'off'
  const level = () => (isOn() ? vscode.LogLevel.Trace : log.logLevel)
  const changed = new vscode.EventEmitter<vscode.LogLevel>()
  const notify = () => changed.fire(level())
  const disposables = [
    changed,
    log.onDidChangeLogLevel(notify),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration(SETTING) && notify()),
  ]
  return Object.create(log, {
    logLevel: { get: level },
    onDidChangeLogLevel: { value: changed.event },
    trace: { value: (message: string) => (isOn() ? log.info(message) : log.trace(message)) },
    dispose: { value: () => vscode.Disposable.from(...disposables).dispose() },
  }) as vscode.LogOutputChannel
}
