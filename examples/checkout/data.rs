//! The data directory: which file is where, whose it is, and that only one run uses it at a time.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// Says that the directory is ours, so that `--fresh` never empties anything else.
const MARKER: &str = "checkout.lock";

/// The paths in a data directory.
#[derive(Debug, Clone)]
pub(crate) struct DataDir(PathBuf);

impl DataDir {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The run's own copy of the orders.
    pub(crate) fn orders(&self) -> PathBuf {
        self.0.join("orders.csv")
    }

    /// The run's own copy of the stock file.
    pub(crate) fn stock(&self) -> PathBuf {
        self.0.join("stock.csv")
    }

    pub(crate) fn shop(&self) -> PathBuf {
        self.0.join("shop.db")
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.0.join("ledger.log")
    }

    pub(crate) fn invoices(&self) -> PathBuf {
        self.0.join("invoices")
    }

    /// The address that `durable` keeps its histories under.
    pub(crate) fn durable_url(&self) -> String {
        format!("sqlite:{}", self.0.join("durable.db").display())
    }

    /// Takes the directory for this process, emptied first if `fresh`. Held until the file is dropped.
    pub(crate) fn claim(&self, fresh: bool) -> Result<File> {
        let dir = self.0.display();
        fs::create_dir_all(&self.0).with_context(|| format!("cannot make the data directory {dir}"))?;
        let marker = self.0.join(MARKER);
        let is_empty = fs::read_dir(&self.0).with_context(|| format!("cannot read {dir}"))?.next().is_none();
        ensure!(
            is_empty || marker.is_file(),
            "{dir} is not empty and holds no data of this program; name another directory with --data"
        );
        let lock = File::options()
            .create(true)
            .append(true)
            .open(&marker)
            .with_context(|| format!("cannot write in the data directory {dir}"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!("another checkout is running on {dir}"),
            Err(TryLockError::Error(error)) => return Err(error).context(format!("cannot lock {dir}")),
        }
        if fresh {
            self.empty().with_context(|| format!("cannot empty {dir}"))?;
        }
        Ok(lock)
    }

    /// Keeps a copy of the input, and refuses to go on with another.
    pub(crate) fn keep_input(&self, orders: &Path, stock: &Path) -> Result<()> {
        for (source, copy) in [(orders, self.orders()), (stock, self.stock())] {
            let bytes = fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
            if let Ok(earlier) = fs::read(&copy) {
                ensure!(
                    earlier == bytes,
                    "{} was begun with another {}; use --fresh to begin again or --data for another directory",
                    self.0.display(),
                    source.display()
                );
            } else {
                let draft = copy.with_extension("draft");
                fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, &copy))?;
            }
        }
        Ok(())
    }

    fn empty(&self) -> std::io::Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else if entry.file_name() != MARKER {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}
