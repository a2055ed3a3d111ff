// Lists branches whose last commit is older than `inputs.days` days.
async function run(ctx, inputs) {
  const listed = await ctx.tool("git", {
    args: ["for-each-ref", "--format=%(refname:short) %(committerdate:unix)", "refs/heads"],
  });
  const oldest = Date.now() / 1000 - inputs.days * 24 * 60 * 60;
  const branches = listed.output
    .split("\n")
    .filter((line) => line.length > 0)
    .map((line) => line.split(" "))
    .filter(([, time]) => Number(time) < oldest)
    .map(([name]) => name);
  return { summary: `${branches.length} stale branches`, branches };
}
