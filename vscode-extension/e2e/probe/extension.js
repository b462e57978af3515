// A language model that always chooses the last file of its prompt, and a runner of actions: it reads
// an action from $PROBE/todo.json and writes its result to $PROBE/done.json.
const fs = require('node:fs')
const path = require('node:path')
const vscode = require('vscode')

const FOLDER = process.env.PROBE
const errorResult = (error) => ({ error: String(error && error.message ? error.message : error) })

const provider = {
  provideLanguageModelChatInformation: () => [
    {
      id: 'ranker',
      name: 'Probe Ranker',
      family: 'probe',
      version: '1',
      maxInputTokens: 100000,
      maxOutputTokens: 4000,
      capabilities: { toolCalling: false },
    },
  ],
  provideLanguageModelChatResponse: async (_model, messages, _options, progress) => {
    const text = messages
      .flatMap((message) => message.content)
      .map((part) => part.value ?? '')
      .join('\n')
    fs.writeFileSync(path.join(FOLDER, 'prompt.txt'), text)
    const id = [...text.matchAll(/^\[(f\d+)\] /gm)].at(-1)[1]
    const answer = { files: [{ id, lines: '1', reason: 'chosen by the model of the editor' }] }
    progress.report(new vscode.LanguageModelTextPart(JSON.stringify(answer)))
  },
  provideTokenCount: async (_model, text) => String(text).length / 4,
}

/** Handle Python like another language server, which finds `main` in `def main` in line 1. */
const otherLanguageServer = () => {
  const range = new vscode.Range(0, 4, 0, 8)
  const locations = (document) => [new vscode.Location(document.uri, range)]
  const provideDocumentSymbols = (document) => [
    new vscode.SymbolInformation('other', vscode.SymbolKind.Class, '', locations(document)[0]),
  ]
  vscode.languages.registerDocumentSymbolProvider('python', { provideDocumentSymbols })
  vscode.languages.registerDefinitionProvider('python', { provideDefinition: locations })
  vscode.languages.registerReferenceProvider('python', { provideReferences: locations })
}

const actions = {
  otherLanguageServer: async () => {
    otherLanguageServer()
    return {}
  },
  workspaceSymbols: async ({ query }) => {
    const symbols = await vscode.commands.executeCommand('vscode.executeWorkspaceSymbolProvider', query)
    return symbols.map(({ name, location }) => `${name} ${location.uri.fsPath}`)
  },
  invokeTool: async ({ name, input }) => {
    const options = { input, toolInvocationToken: undefined }
    const result = await vscode.lm.invokeTool(name, options)
    return { text: result.content.map((part) => part.value).join('') }
  },
  tools: async () => vscode.lm.tools.filter((tool) => tool.name.startsWith('winnow_')),
  references: async ({ file, line, character }) => {
    const references = await vscode.commands.executeCommand(
      'vscode.executeReferenceProvider',
      vscode.Uri.file(file),
      new vscode.Position(line, character),
    )
    return references.map(({ uri, range }) => `${uri.fsPath}:${range.start.line + 1}`)
  },
  command: async ({ id, args = [] }) => {
    await vscode.commands.executeCommand(id, ...args)
    return {}
  },
  preview: async ({ file }) => {
    await vscode.window.showTextDocument(vscode.Uri.file(file), { preview: true })
    return {}
  },
  open: async ({ file }) => {
    await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(file))
    return {}
  },
  configure: async ({ settings }) => {
    const configuration = vscode.workspace.getConfiguration()
    for (const [name, value] of Object.entries(settings)) {
      await configuration.update(name, value ?? undefined, vscode.ConfigurationTarget.Global)
    }
    return {}
  },
  activation: async () => {
    const extension = vscode.extensions.getExtension('winnow-ls.winnow')
    return { active: extension.isActive, ...(extension.isActive ? extension.exports : {}) }
  },
}

async function runAction() {
  const todo = path.join(FOLDER, 'todo.json')
  const doing = path.join(FOLDER, 'doing.json')
  try {
    fs.renameSync(todo, doing)
  } catch {
    return // No action yet.
  }
  const { action, ...input } = JSON.parse(fs.readFileSync(doing, 'utf-8'))
  const done = await actions[action](input).catch(errorResult)
  fs.writeFileSync(path.join(FOLDER, 'written.json'), JSON.stringify(done))
  fs.renameSync(path.join(FOLDER, 'written.json'), path.join(FOLDER, 'done.json'))
}

exports.activate = (context) => {
  const timer = setInterval(() => void runAction(), 50)
  context.subscriptions.push(
    vscode.lm.registerLanguageModelChatProvider('probe', provider),
    new vscode.Disposable(() => clearInterval(timer)),
  )
}
