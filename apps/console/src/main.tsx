import './app/styles.ts';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createAppRouter, preloadScreen } from './app/router.tsx';
import { theme } from './app/theme.ts';
import { configureClient } from './data/client.ts';
import { meQuery } from './data/me.ts';
import { noteLoadError } from './data/problem.ts';
import { createQueryClient } from './data/query-client.ts';

window.addEventListener('vite:preloadError', ({ payload }) => noteLoadError(payload));

const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
// For the library that locks the page's scrolling while a dialog is open: it injects a style.
setNonce(nonce);
configureClient();
const queryClient = createQueryClient();
// Asked while the code of the screen loads. The shell would ask only after that.
void queryClient.prefetchQuery(meQuery());
const router = createAppRouter(queryClient);
// A failure is shown by the screen, which asks again.
preloadScreen(router).catch(() => {});

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
