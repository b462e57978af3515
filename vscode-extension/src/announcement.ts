import * as vscode from 'vscode'

import { changeIndex } from './core/protocol'
import { messageOf } from './log'
import type { Server } from './server'

const ANNOUNCED = 'winnow.announcedIndex'
const STOP = "Don't Index This Folder"
const NONE = new vscode.CancellationTokenSource().token

/** The notification of the first indexing of a workspace. */
export class Announcement {
  constructor(
    private readonly state: vscode.Memento,
    private readonly server: Server,
  ) {}

  /** Tell the user once that the folder is being indexed, and let them stop that. */
  async show(): Promise<void> {
    if (this.state.get(ANNOUNCED, false)) return
    await this.state.update(ANNOUNCED, true)
    const chosen = await vscode.window.showInformationMessage(
      'Winnow is indexing this folder, so that searches are fast. The index is stored in the folder .winnow and stays on this machine.',
      'OK',
      STOP,
    )
    if (chosen === STOP) await this.stop()
  }

  private async stop(): Promise<void> {
    try {
      const target = vscode.ConfigurationTarget.Workspace
      await vscode.workspace.getConfiguration('winnow').update('index.enabled', false, target)
      await this.server.settingsChanged()
      await this.server.request(changeIndex, { action: 'clear' }, NONE)
    } catch (error) {
      void vscode.window.showErrorMessage(`Winnow: could not stop indexing: ${messageOf(error)}`)
    }
  }
}
