/** Light and dark follow the reader's system; contrast is at least 4.5 to 1 in both. */
export const PAGE_CSS = `:root {
  color-scheme: light dark;
  --back: #ffffff; --text: #1b1f24; --quiet: #57606a; --line: #d0d7de; --raised: #f6f8fa;
  --accent: #0550ae; --bar: #0969da; --bar-back: #d8dee4; --bad: #a40e26;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0d1117; --text: #e6edf3; --quiet: #9198a1; --line: #3d444d; --raised: #151b23;
    --accent: #79c0ff; --bar: #388bfd; --bar-back: #2f3742; --bad: #ff9492;
  }
}
html { scroll-padding-top: 72px; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: 4px 24px; align-items: center; padding: 12px 24px; border-bottom: 1px solid var(--line); background: var(--raised); position: sticky; top: 0; z-index: 1; }
header p { margin: 0; }
h1 { font-size: 20px; margin: 0; flex: 1 1 auto; }
h1 span { color: var(--quiet); font-weight: 400; }
h2 { font-size: 17px; margin: 28px 0 8px; }
main { padding: 8px 24px 48px; max-width: 1500px; margin: 0 auto; }
main:focus { outline: none; }
#status::before { content: "● "; color: var(--quiet); }
#status.live::before { color: var(--bar); }
#status.lost { color: var(--bad); font-weight: 600; }
#clock, td, dd { font-variant-numeric: tabular-nums; }
dl { display: flex; flex-wrap: wrap; gap: 12px; margin: 16px 0 0; }
dl > div { border: 1px solid var(--line); border-radius: 6px; padding: 8px 14px; background: var(--raised); }
dt { color: var(--quiet); font-size: 13px; }
dd { margin: 0; font-size: 22px; }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 6px 12px; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; font-size: 13px; background: var(--raised); white-space: nowrap; }
tbody th { color: inherit; font-size: inherit; background: none; }
tbody tr:last-child > * { border-bottom: 0; }
td:has(progress) { min-width: 230px; }
td progress { display: block; width: 100%; min-width: 160px; height: 8px; margin-top: 4px; appearance: none; border: 0; background: var(--bar-back); border-radius: 4px; overflow: hidden; }
progress::-webkit-progress-bar { background: var(--bar-back); }
progress::-webkit-progress-value { background: var(--bar); }
progress::-moz-progress-bar { background: var(--bar); }
td.state-absent, td.state-suspect { color: var(--bad); font-weight: 600; }
td.state-draining, td.state-drained { font-weight: 600; }
button, input { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--quiet); border-radius: 6px; padding: 4px 12px; }
button { cursor: pointer; }
button:hover { background: var(--bar-back); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -1000px; }
.skip:focus { left: 8px; top: 8px; z-index: 2; background: var(--back); padding: 8px; }
.empty, .more { color: var(--quiet); margin: 6px 0; }
details { border: 1px solid var(--line); border-radius: 6px; margin: 6px 0; padding: 6px 12px; }
details table { margin-top: 6px; }
summary { cursor: pointer; }
form { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
#happenings { padding-left: 20px; }
@media (prefers-reduced-motion: no-preference) { progress::-webkit-progress-value { transition: width 0.3s; } }
`;
