import * as vscode from 'vscode'

import { log } from './log'

const SETTING = 'winnow.trace.server'

/**
 * The channel for what passes between editor and server. The client traces where the channel's level
 * is "trace", which no setting can say: this one has it where `winnow.trace.server` is on, too.
 */
export function traceChannel(): vscode.LogOutputChannel & vscode.Disposable {
  const isOn = () => vscode.workspace.getConfiguration().get(SETTING, 'off') !== 'off'
  const level = () => (isOn() ? vscode.LogLevel.Trace : log.logLevel)
  const changed = new vscode.EventEmitter<vscode.LogLevel>()
  const tell = () => changed.fire(level())
  const disposables = [
    changed,
    log.onDidChangeLogLevel(tell),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration(SETTING) && tell()),
  ]
  return Object.create(log, {
    logLevel: { get: level },
    onDidChangeLogLevel: { value: changed.event },
    trace: { value: (message: string) => (isOn() ? log.info(message) : log.trace(message)) },
    dispose: { value: () => vscode.Disposable.from(...disposables).dispose() },
  }) as vscode.LogOutputChannel
}
