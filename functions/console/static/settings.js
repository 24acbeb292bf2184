/** What the deployment tells the page: the time zone of the periods, and how people sign in. */
export const settings = JSON.parse(document.querySelector('meta[name="settings"]').content);
