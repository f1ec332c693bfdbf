import { useData, withBase } from 'vitepress';
import Theme from 'vitepress/theme-without-fonts';
import { defineComponent, h } from 'vue';
import './site.css';

/** Link to the Markdown that the page was made from. */
const MarkdownLink = defineComponent(() => {
  const { page } = useData();
  return () => h('a', { class: 'markdown-link', href: withBase(`/${page.value.relativePath}`), target: '_self' }, 'This page as Markdown');
});

export default { extends: Theme, Layout: () => h(Theme.Layout, null, { 'doc-footer-before': () => h(MarkdownLink) }) };
