import * as vscode from 'vscode'

import type { CompleteParams } from './core/protocol'

/** The editor's own language model as the ranker: `$/complete`, for whoever has opted in. */
export class EditorModel {
  get isEnabled(): boolean {
    return vscode.workspace.getConfiguration('winnow').get('editorModel.enabled', false)
  }

  /** The model's answer to a prompt of the server. Throws if there is no model, or it refuses. */
  async answer(
    params: CompleteParams,
    token: vscode.CancellationToken,
  ): Promise<{ text: string; model: string }> {
    const selector = vscode.workspace
      .getConfiguration('winnow')
      .get<vscode.LanguageModelChatSelector>('editorModel.selector', {})
    const [model] = await vscode.lm.selectChatModels(selector)
    if (!model) throw new Error('the editor has no language model that matches winnow.editorModel.selector')
    // The API has no message of a system: the rules come first.
    const messages = [params.system, params.prompt].map((text) =>
      vscode.LanguageModelChatMessage.User(text),
    )
    const options: vscode.LanguageModelChatRequestOptions = {
      justification: 'Winnow lets this model choose among the files a search found.',
    }
    const response = await model.sendRequest(messages, options, token)
    let text = ''
    for await (const piece of response.text) text += piece
    return { text, model: `${model.vendor}/${model.id}` }
  }
}
