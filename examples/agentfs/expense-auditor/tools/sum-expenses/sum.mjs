// Adds up a report. Amounts are counted in cents, so that no fraction is lost.
export function run(_ctx, { arguments: { limit }, files }) {
  const [report] = files.report;
  const rows = report.content.trim().split("\n").slice(1);
  const entries = rows.map((row, at) => {
    const [date, what, amount] = row.split(",");
    const cents = Math.round(Number(amount) * 100);
    if (!Number.isFinite(cents)) throw new Error(`row ${at + 2}: \`${amount}\` is not an amount`);
    return { date, what, cents };
  });
  const total = entries.reduce((sum, entry) => sum + entry.cents, 0);
  const above = entries.filter((entry) => entry.cents > limit * 100);
  return {
    entries: entries.length,
    total: (total / 100).toFixed(2),
    above_limit: above.map(({ date, what, cents }) => `${date} ${what}: ${(cents / 100).toFixed(2)}`),
  };
}
