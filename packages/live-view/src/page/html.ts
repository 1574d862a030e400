import { visible } from "../visible.ts";

/** The page before any state has come. The script fills it; without one it says so. */
export function pageHtml({ title, readOnly }: { readonly title: string; readonly readOnly: boolean }): string {
  const name = escapeHtml(title);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}: live view</title>
<link rel="stylesheet" href="/view.css">
<link rel="icon" href="data:,">
<script src="/view.js" defer></script>
</head>
<body data-read-only="${readOnly}">
<a class="skip" href="#main">Skip to the state</a>
<header>
  <h1>${name} <span>live view</span></h1>
  <p>Clock <output id="clock">unknown</output></p>
  <p id="status" role="status">Connecting</p>
  <button id="pause" type="button" aria-pressed="false">Pause</button>
</header>
<noscript><p>This page needs JavaScript.</p></noscript>
<main id="main" tabindex="-1">
  <dl id="figures" aria-label="Figures"></dl>
  ${section("accelerators", "Accelerators", [
    ...["Accelerator", "Kind", "State", "HBM in use", "Running", "Queue", "Next"],
    ...(readOnly ? [] : ["Action"]),
  ])}
  ${section("frontier", "Unscheduled frontier by class", ["Class", "Operators that could be issued"])}
  ${section("waiting", "What waits, and for what", [
    ...["Instance", "Label", "Tenant", "Operator", "Class", "Since", "Waits for", "Look"],
    ...(readOnly ? [] : ["Action"]),
  ])}
  ${section("transfers", "Transfers", ["Transfer", "From", "To", "Size", "State", "Since", "Operators that wait"])}
  <section aria-labelledby="explain-title">
    <h2 id="explain-title">Explain an instance</h2>
    <form id="explain"><label for="instance">Instance</label>
      <input id="instance" inputmode="numeric" pattern="[0-9]{1,15}" required autocomplete="off">
      <button type="submit">Explain</button></form>
    <div id="explanation" role="region" aria-label="Explanation" aria-live="polite"></div>
  </section>
  <section aria-labelledby="decisions-title">
    <h2 id="decisions-title">Latest decisions</h2>
    <div id="decisions"></div>
    <p class="empty" id="decisions-empty">No decision so far.</p>
  </section>
  <section aria-labelledby="happenings-title">
    <h2 id="happenings-title">What happened</h2>
    <ul id="happenings"></ul>
    <p class="empty" id="happenings-empty">Nothing was lost, failed or stood still.</p>
  </section>
  ${readOnly ? "" : control()}
</main>
</body>
</html>
`;
}

function section(id: string, title: string, columns: readonly string[]): string {
  const heads = columns.map((column) => `<th scope="col">${column}</th>`).join("");
  return `<section aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}</h2>
    <div class="wide" tabindex="0" role="group" aria-labelledby="${id}-title">
      <table aria-labelledby="${id}-title"><thead><tr>${heads}</tr></thead><tbody id="${id}"></tbody></table>
    </div>
    <p class="empty" id="${id}-empty">None.</p>
    <p class="more" id="${id}-more" hidden></p>
  </section>`;
}

function control(): string {
  return `<section aria-labelledby="control-title">
    <h2 id="control-title">Control</h2>
    <p id="control-help">Buttons that drain, resume and cancel send this token. It stays in this page and is forgotten with it.</p>
    <label for="token">Token</label>
    <input id="token" type="password" autocomplete="off" aria-describedby="control-help">
    <p id="answer" role="status"></p>
  </section>`;
}

function escapeHtml(text: string): string {
  return visible(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
