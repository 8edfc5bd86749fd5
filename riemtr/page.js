// A click on a heading sorts the rows of each block by it, figures before words; another turns back.
for (const table of document.querySelectorAll("table")) {
  const [head, ...rows] = table.rows;
  for (const cell of head.querySelector("td") ? [] : head.cells) {
    cell.addEventListener("click", () => {
      const way = (cell.dataset.up ^= 1) ? 1 : -1;
      let block = 0;
      const keyed = rows.map((row) => {
        if (row.cells.length === 1) return { row, block: ++block, rank: 0, key: 0 };
        const text = row.cells[cell.cellIndex].textContent;
        const [figure, all = 1] = text.split("/").map(parseFloat);
        if (isNaN(figure)) return { row, block, rank: 2, key: text };
        return { row, block, rank: 1, key: (figure / all) * (text.endsWith(" ms") ? 1e-3 : 1) };
      });
      const order = (a, b) => (a.key < b.key ? -way : a.key > b.key ? way : 0);
      keyed.sort((a, b) => a.block - b.block || a.rank - b.rank || order(a, b));
      table.tBodies[0].append(...keyed.map((one) => one.row));
    });
  }
}
