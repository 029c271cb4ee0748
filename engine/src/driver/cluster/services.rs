//! What shuffle services are told. Nothing depends on it but their disks: what they do not hear of goes when
//! it has been idle for long.

use std::collections::HashSet;
use std::time::Duration;

use millstream_planner::ids::ShuffleId;
use millstream_shuffle::net::channel::Access;
use millstream_shuffle::net::{Request, ask};
use tokio::runtime::Builder;

use super::settings::ClusterSettings;
use crate::protocol::ServedBy;

/// How long a service may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Tells the services that the application is over, and waits until they have removed its files.
pub(super) fn tell_all(services: &HashSet<String>, settings: &ClusterSettings) {
    if services.is_empty() {
        return;
    }
    let over = Request::Over { app_name: settings.app_name.clone(), group: settings.group };
    let tell = || {
        let Ok(tokio) = Builder::new_current_thread().enable_all().build() else { return };
        for service in services {
            let _ = tokio.block_on(ask(service, &settings.access, &over, PATIENCE));
        }
    };
    // On a thread of its own: the driver may be stopped by one that must not wait.
    std::thread::scope(|scope| drop(scope.spawn(tell).join()));
}

/// Tells services that a shuffle of executors that are no more is not read any more.
pub(super) async fn drop_shuffle(departed: Vec<ServedBy>, access: Access, shuffle: ShuffleId) {
    for ServedBy { service, owner } in departed {
        let request = Request::DropShuffle { owner, shuffle: shuffle.0 };
        let _ = ask(&service, &access, &request, PATIENCE).await;
    }
}
