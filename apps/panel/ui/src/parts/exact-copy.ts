/** Copies the exact amounts and moments of a selection instead of the rounded ones that the page shows. */
export function copyExactValues(event: ClipboardEvent): void {
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed || !event.clipboardData) return;
  const copied = selection.getRangeAt(0).cloneContents();
  const rounded = copied.querySelectorAll('[data-exact]');
  if (rounded.length === 0) return;
  for (const element of rounded) element.textContent = element.getAttribute('data-exact');
  for (const row of copied.querySelectorAll('tr')) row.append('\n');
  for (const cell of copied.querySelectorAll('td, th')) cell.append('\t');
  event.clipboardData.setData('text/plain', copied.textContent?.trim() ?? '');
  event.preventDefault();
}
