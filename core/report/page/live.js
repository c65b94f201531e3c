const live = document.querySelector('.live');
if (live) setTimeout(() => location.reload(), 1000 * live.dataset.every);
