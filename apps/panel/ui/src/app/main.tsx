import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { copyExactValues } from '../parts/exact-copy.js';
import { App } from './app.js';
import './base.css';
import { applyScheme } from './scheme.js';
import './tokens.css';
import '../parts/chart/series.css';

applyScheme();
document.addEventListener('copy', copyExactValues);

const client = new QueryClient({ defaultOptions: { queries: { staleTime: 15_000, refetchOnWindowFocus: true } } });

createRoot(document.getElementById('app') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <Router base={import.meta.env.BASE_URL.replace(/\/$/, '')}>
        <App />
      </Router>
    </QueryClientProvider>
  </StrictMode>,
);
