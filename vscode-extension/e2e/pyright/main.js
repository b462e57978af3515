// Starts the language server of the npm package pyright, which is in $PYRIGHT.
const path = require('node:path')
const { LanguageClient, TransportKind } = require('vscode-languageclient/node')

exports.activate = async (context) => {
  const module = path.join(process.env.PYRIGHT, 'langserver.index.js')
  const server = { module, transport: TransportKind.ipc }
  const client = new LanguageClient('pyright', 'Pyright', server, { documentSelector: [{ language: 'python' }] })
  context.subscriptions.push(client)
  await client.start()
}
