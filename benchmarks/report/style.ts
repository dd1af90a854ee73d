export const REPORT_STYLE = `
:root { color-scheme: light; --ink: #1f2933; --soft: #5b6773; --line: #d5dbe1; --good: #00694b; --bad: #a83200; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f6f8; color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 960px; margin: 0 auto; padding: 16px; }
header, section { background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: 16px 20px; margin: 0 0 16px; }
h1 { margin: 0 0 4px; font-size: 26px; }
h2 { margin: 0 0 10px; font-size: 18px; }
h3 { margin: 0 0 8px; font-size: 14px; color: var(--soft); font-weight: 600; }
p { margin: 4px 0 8px; }
figure { margin: 0; }
figcaption, .note, small { color: var(--soft); font-size: 13px; }
small { display: block; }
svg { display: block; width: 100%; height: auto; }
.narrow { display: none; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); }
tr:last-child > * { border-bottom: 0; }
td b { font-size: 16px; }
.assertions { font-size: 13px; }
.pass { color: var(--good); font-weight: 600; }
.fail { color: var(--bad); font-weight: 600; }
.open { color: var(--soft); font-weight: 600; }
main > details { margin: 0 0 16px; }
main > details > summary { margin: 0 0 16px; padding: 4px 8px; font-weight: 600; }
.warning { color: var(--bad); font-weight: 600; }
.mark { display: inline-block; min-width: 18px; text-align: center; border-radius: 9px; background: #fbe3d6; color: var(--bad); font-size: 12px; font-weight: 700; }
dl { margin: 0; display: grid; grid-template-columns: max-content 1fr; gap: 6px 16px; }
dt { font-weight: 600; }
dd { margin: 0; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 13px; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px; vertical-align: -1px; }
.deployments, section > ul { margin: 0; padding-left: 20px; }
code, pre { font: 12px/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; background: #f4f6f8; padding: 12px; border-radius: 6px; }
summary { cursor: pointer; margin-top: 10px; }
.zones { display: grid; grid-template-columns: repeat(auto-fit, minmax(180px, 1fr)); gap: 12px; }
.zone { border: 1px dashed var(--line); border-radius: 8px; padding: 12px; }
.zone ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 8px; }
.zone li { border: 2px solid var(--shard); border-radius: 6px; padding: 6px 10px; font-size: 13px; overflow-wrap: anywhere; }
.zone li.primary { background: var(--shard); color: #fff; }
.zone li.primary small { color: #fff; }
@media (max-width: 640px) {
  main { padding: 8px; }
  header, section { padding: 12px; }
  h1 { font-size: 22px; }
  dl { grid-template-columns: 1fr; }
  .wide { display: none; }
  .narrow { display: block; }
}
@media print { body { background: #fff; } section { break-inside: avoid; } }
`;
