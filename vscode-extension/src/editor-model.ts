import * as vscode from 'vscode'

import type { CompleteParams } from './core/protocol'

/** The editor's own language model, which answers `$/complete` if the user enabled it. */
export class EditorModel {
  /** The model of the chat that is being answered. */
  private ofChat: vscode.LanguageModelChat | undefined

  get isEnabled(): boolean {
    return vscode.workspace.getConfiguration('winnow').get('editorModel.enabled', false)
  }

  /** Use the model that the user selected in the chat while a task runs. */
  async during<T>(model: vscode.LanguageModelChat, task: () => Promise<T>): Promise<T> {
    this.ofChat = model
    try {
      return await task()
    } finally {
      if (this.ofChat === model) this.ofChat = undefined
    }
  }

  /** Return the model's answer to the server's prompt. Throws if no model matches or it refuses. */
  async answer(
    params: CompleteParams,
    token: vscode.CancellationToken,
  ): Promise<{ text: string; model: string }> {
    const model = this.ofChat ?? (await selectedModel())
    // The API has no system messages, so the system prompt is the first user message.
    const messages = [params.system, params.prompt].map((text) =>
      vscode.LanguageModelChatMessage.User(text),
    )
    const options: vscode.LanguageModelChatRequestOptions = {
      justification: 'Winnow uses this model to rank the files that a search found.',
    }
    const response = await model.sendRequest(messages, options, token)
    let text = ''
    for await (const piece of response.text) text += piece
    return { text, model: `${model.vendor}/${model.id}` }
  }
}

/** Return the model that the settings select. Throws if none matches. */
async function selectedModel(): Promise<vscode.LanguageModelChat> {
  const selector = vscode.workspace
    .getConfiguration('winnow')
    .get<vscode.LanguageModelChatSelector>('editorModel.selector', {})
  const [model] = await vscode.lm.selectChatModels(selector)
  if (!model) throw new Error('the editor has no language model that matches winnow.editorModel.selector')
  return model
}
