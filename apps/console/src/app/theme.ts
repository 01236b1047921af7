import {
  ActionIcon,
  Button,
  Combobox,
  createTheme,
  type MantineColorsTuple,
  Menu,
  Modal,
  Select,
  TagsInput,
  Textarea,
  TextInput,
  Tooltip,
} from '@mantine/core';
import { renderButton } from '../components/button-element.tsx';

const accent: MantineColorsTuple = [
  '#eef2ff',
  '#dfe6ff',
  '#bccbff',
  '#96aefd',
  '#7591fa',
  '#5a78f0',
  '#3b5bdb',
  '#3450c4',
  '#2c45ab',
  '#233889',
];

/** Surfaces and texts of the dark scheme, from the lightest text to the darkest surface. */
const dark: MantineColorsTuple = [
  '#e6e9ee',
  '#c5ccd6',
  '#a3adba',
  '#7d8896',
  '#3a424d',
  '#2b323b',
  '#1f252d',
  '#161a20',
  '#101318',
  '#0b0d11',
];

/** What opens has no transition: it would be there two frames late, and lose the keys that are typed until then. */
// Declared here because Mantine's type of a button's default props lacks `renderRoot`.
const BUTTON_PROPS = { size: 'xs', renderRoot: renderButton };

export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 6, dark: 6 },
  colors: { accent, dark },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '18px' },
  defaultRadius: 'sm',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    ActionIcon: ActionIcon.extend({ defaultProps: { variant: 'subtle', color: 'gray', size: 28 } }),
    Button: Button.extend({ defaultProps: BUTTON_PROPS }),
    // Otherwise the options of every closed list are in the page, and are placed on the screen.
    Combobox: Combobox.extend({ defaultProps: { keepMounted: false, transitionProps: { duration: 0 } } }),
    Menu: Menu.extend({
      defaultProps: {
        shadow: 'md',
        position: 'bottom-end',
        // A focusable element that is no item may not be in a menu.
        withInitialFocusPlaceholder: false,
        transitionProps: { duration: 0 },
      },
    }),
    Modal: Modal.extend({
      defaultProps: { centered: true, transitionProps: { duration: 0 }, closeButtonProps: { 'aria-label': 'Close' } },
    }),
    Select: Select.extend({ defaultProps: { size: 'xs' } }),
    TagsInput: TagsInput.extend({ defaultProps: { size: 'xs' } }),
    Textarea: Textarea.extend({ defaultProps: { size: 'xs' } }),
    TextInput: TextInput.extend({ defaultProps: { size: 'xs' } }),
    Tooltip: Tooltip.extend({
      defaultProps: { openDelay: 300, transitionProps: { duration: 0 }, multiline: true, maw: 320 },
    }),
  },
});
