// The chat in VS Code: a view at the side, and as many editors as wanted. This side keeps the sessions and asks the model
// server; the views show, and may be closed, moved and loaded again at any time.

"use strict";

const vscode = require("vscode");

const VIEW = "palimpsest.chat";
const PANEL = "palimpsest.panel";

/** @param {import("vscode").ExtensionContext} context */
exports.activate = (context) => {
  /** What is served now: each view with what ends it, and the one that was used last. */
  const served = new Map();
  let last;

  /** Serves a webview until its view is gone. Setting the page anew begins it again. */
  async function serve(view, webview) {
    const { attachPalimpsest, palimpsestHtml } = await import("palimpsest-ui/vscode-host");
    const { extensionUri, globalStorageUri } = context;
    webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(extensionUri, "node_modules", "palimpsest-ui", "dist")] };
    served.get(view)?.attached.dispose();
    const attached = attachPalimpsest(webview, {
      storageFolder: globalStorageUri.fsPath,
      ollamaUrl: vscode.workspace.getConfiguration("palimpsest").get("ollamaUrl"),
      openExternal: (url) => vscode.env.openExternal(vscode.Uri.parse(url)),
      copy: (text) => vscode.env.clipboard.writeText(text),
      saveFile: save,
    });
    served.set(view, { attached, again: () => serve(view, webview) });
    last = view;
    webview.html = palimpsestHtml(webview, extensionUri, { lang: vscode.env.language });
  }

  function gone(view) {
    served.get(view)?.attached.dispose();
    served.delete(view);
    if (last === view) last = [...served.keys()].at(-1);
  }

  /** A file that the app made: where it goes is asked. */
  async function save(name, text) {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri ?? vscode.Uri.file(require("node:os").homedir());
    const target = await vscode.window.showSaveDialog({ defaultUri: vscode.Uri.joinPath(folder, name) });
    if (target !== undefined) await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
  }

  /** Tells the view that was used last; where there is none, the one at the side is opened. */
  async function tell(command) {
    if (last === undefined) await vscode.commands.executeCommand(`${VIEW}.focus`);
    served.get(last)?.attached.command(command);
  }

  const views = {
    async resolveWebviewView(view) {
      // a view that is moved is resolved again, as another one
      view.onDidDispose(() => gone(view));
      view.onDidChangeVisibility(() => { if (view.visible) last = view; });
      await serve(view, view.webview);
    },
  };

  async function show(panel) {
    panel.iconPath = vscode.Uri.joinPath(context.extensionUri, "icon.svg");
    panel.onDidDispose(() => gone(panel));
    panel.onDidChangeViewState(() => { if (panel.active) last = panel; });
    await serve(panel, panel.webview);
  }

  context.subscriptions.push(
    vscode.window.registerWebviewViewProvider(VIEW, views),
    vscode.window.registerWebviewPanelSerializer(PANEL, { deserializeWebviewPanel: (panel) => show(panel) }),
    vscode.commands.registerCommand("palimpsest.newSession", () => tell("newSession")),
    vscode.commands.registerCommand("palimpsest.export", () => tell("exportMarkdown")),
    vscode.commands.registerCommand("palimpsest.openInEditor", () => show(vscode.window.createWebviewPanel(PANEL, "palimpsest", vscode.ViewColumn.Active))),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (!change.affectsConfiguration("palimpsest")) return;
      for (const { again } of [...served.values()]) await again();
    }),
    { dispose: () => { for (const view of [...served.keys()]) gone(view); } },
  );
};
