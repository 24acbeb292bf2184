/** The settings of the deployment: how people sign in. */
export const settings = JSON.parse(document.querySelector('meta[name="settings"]').content);
