/** The settings of the deployment: time zone of the periods, and sign-in. */
export const settings = JSON.parse(document.querySelector('meta[name="settings"]').content);
